/*
 * queue_parse.h - what the parsers of queue_info.h share.
 */
#ifndef RINGSIDE_TUI_QUEUE_PARSE_H
#define RINGSIDE_TUI_QUEUE_PARSE_H

#include <stddef.h>

/* So many bytes of a text, as many as fit whole characters; what steers a terminal becomes blanks, and none at the end. */
void queue_copy(char *to, size_t size, const char *from, size_t length);

#endif
