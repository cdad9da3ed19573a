#include "tui/plain.h"
int plain_application(FILE *in, FILE *out, bool utf8)
{
    (void)in, (void)out, (void)utf8;
    return 3;
}
