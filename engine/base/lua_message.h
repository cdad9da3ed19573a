/*
 * lua_message.h - Lua's error messages in plain words, for people who know Python and not Lua.
 *
 * Knows the messages of Lua 5.4 and the habits that cause most of them (+=, a colon after if, None, len(x),
 * comments with #, indexes from 0). A message that is not known is passed on as it is.
 */
#ifndef RINGSIDE_BASE_LUA_MESSAGE_H
#define RINGSIDE_BASE_LUA_MESSAGE_H

#include <stddef.h>

/* What the sandbox raises; %f: seconds, a double (Lua knows no %g). */
#define LUA_MESSAGE_TOO_LONG "the script ran for more than %f s without coming to an end"

/* What Lua has instead of a global name of another language or of a library that is left out; NULL: unknown. */
const char *lua_message_foreign(const char *name);

/* message: without its position; source: the text of its line, may be "". */
void lua_message_translate(const char *message, const char *source, double cap_mib, char *what,
                           size_t what_size, char *todo, size_t todo_size);

#endif
