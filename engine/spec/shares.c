#include "engine/spec/shares.h"

#include <stdlib.h>
#include <string.h>

bool shares_parse(const char *text, int ranks, int *shares, struct error *e)
{
    int count = 0;
    for (const char *p = text; *p || count;) {
        char *end;
        long share = *p >= '0' && *p <= '9' ? strtol(p, &end, 10) : 0;
        if (share < 1 || share > SHARE_MOST || (*end && *end != ','))
            return error_set(
                e, ERROR_INPUT,
                "shares: expected whole numbers from 1 to %d with commas between, such as 3,1, got '%s'",
                SHARE_MOST, text);
        if (count < ranks)
            shares[count] = (int)share;
        count++;
        if (!*end)
            break;
        p = end + 1;
    }
    if (count > 0 && count != ranks)
        return error_set(e, ERROR_INPUT, "shares: %d of them for %d rank%s; expected one for each", count,
                         ranks, ranks == 1 ? "" : "s");
    for (int r = 0; count == 0 && r < ranks; r++)
        shares[r] = 1;
    return true;
}
