#include "engine/base/lua_message.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct foreign {
    const char *name, *advice;
};

#define NO_SYSTEM "is not available: a script here can reach neither files, programs nor the network"
static const struct foreign foreign[] = {
    {"None", "is Python; Lua's word for it is nil"},
    {"null", "is not Lua; Lua's word for it is nil"},
    {"True", "is Python; Lua writes true"},
    {"False", "is Python; Lua writes false"},
    {"len", "is Python; in Lua #x is the length of x"},
    {"range", "is Python; in Lua a loop over 1 to n is: for i = 1, n do ... end"},
    {"str", "is Python; Lua has tostring(x)"},
    {"int", "is Python; Lua has math.floor(x), and x // 1 for a whole quotient"},
    {"float", "is Python; Lua has tonumber(x)"},
    {"abs", "is Python; Lua has math.abs(x)"},
    {"min", "is Python; Lua has math.min(a, b)"},
    {"max", "is Python; Lua has math.max(a, b)"},
    {"sum", "is Python; in Lua add up in a loop: for i = 1, #x do total = total + x[i] end"},
    {"enumerate", "is Python; in Lua: for i, value in ipairs(list) do ... end"},
    {"self", "is nil here: only a function written with a colon has one"},
    {"os", NO_SYSTEM},
    {"io", NO_SYSTEM},
    {"debug", NO_SYSTEM},
    {"package", NO_SYSTEM},
    {"require", NO_SYSTEM},
    {"dofile", NO_SYSTEM},
    {"loadfile", NO_SYSTEM},
    {"load", "is not available: a script here cannot compile further code"},
    {"loadstring", "is not available: a script here cannot compile further code"},
};

const char *lua_message_foreign(const char *name)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (!strcmp(name, foreign[i].name))
            return foreign[i].advice;
    return NULL;
}

/* --- looking at the line ----------------------------------------------------------------------------------- */

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static bool starts(const char *text, const char *word)
{
    size_t n = strlen(word);
    return !strncmp(text, word, n) && !isalnum((unsigned char)text[n]) && text[n] != '_';
}

/* A single = that is neither ==, ~=, <= nor >=. */
static bool has_lone_assignment(const char *text)
{
    for (const char *p = text; (p = strchr(p, '=')); p++) {
        if (p[1] == '=') {
            p++;
            continue;
        }
        if (p == text || !strchr("~<>!=", p[-1]))
            return true;
    }
    return false;
}

/* "x += 1" and the like: writes the operator to *op. */
static bool has_compound(const char *text, char *op)
{
    for (const char *p = text; (p = strchr(p, '=')); p++)
        if (p > text && p[1] != '=' && strchr("+-*/%^|&", p[-1])) {
            *op = p[-1];
            return true;
        }
    return false;
}

static bool ends_with_colon(const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    return n > 0 && text[n - 1] == ':';
}

/* The text between the first pair of quotes ' after `from`; "" where there is none. */
static void quoted(const char *from, char *out, size_t size)
{
    *out = 0;
    const char *a = strchr(from, '\'');
    const char *b = a ? strchr(a + 1, '\'') : NULL;
    if (b)
        snprintf(out, size, "%.*s", (int)(b - a - 1), a + 1);
}

struct words {
    char *what, *advice;
    size_t what_size, advice_size;
};

#define WHAT(...) snprintf(w->what, w->what_size, __VA_ARGS__)
#define ADVISE(...) snprintf(w->advice, w->advice_size, __VA_ARGS__)

/* --- mistakes that are seen in the line itself: habits from other languages -------------------------------- */

static bool habit(const char *line, struct words *w)
{
    char op = 0;
    if (has_compound(line, &op)) {
        WHAT("Lua has no %c=", op);
        ADVISE("write x = x %c ... instead", op);
    } else if (has(line, "++")) {
        WHAT("Lua has no ++");
        ADVISE("write x = x + 1 instead");
    } else if (has(line, "!=")) {
        WHAT("Lua has no !=");
        ADVISE("'not equal' is written ~=");
    } else if (has(line, "&&") || has(line, "||")) {
        WHAT("Lua has no && and ||");
        ADVISE("write 'and' and 'or'");
    } else if (line[0] == '#' || has(line, " # ")) {
        WHAT("a comment in Lua does not begin with #");
        ADVISE("begin it with --");
    } else if (has(line, "//") && line[0] == '/') {
        WHAT("a comment in Lua does not begin with //");
        ADVISE("begin it with --");
    } else if (starts(line, "elif") || has(line, "else if ")) {
        WHAT("Lua's word is 'elseif'");
        ADVISE("write: elseif condition then");
    } else if (starts(line, "def")) {
        WHAT("a function in Lua does not begin with 'def'");
        ADVISE("write: function name(a, b) ... end");
    } else if (starts(line, "import") || starts(line, "from")) {
        WHAT("there is nothing to import here");
        ADVISE("leave the line out; all functions are there already");
    } else if ((starts(line, "if") || starts(line, "elseif")) && ends_with_colon(line)) {
        WHAT("an 'if' in Lua does not end with a colon");
        ADVISE("write: if condition then ... end");
    } else if (starts(line, "else") && ends_with_colon(line)) {
        WHAT("an 'else' in Lua has no colon");
        ADVISE("write 'else' alone");
    } else if ((starts(line, "for") || starts(line, "while")) && ends_with_colon(line)) {
        WHAT("a loop in Lua does not begin with a colon");
        ADVISE("write: for i = 1, n do ... end   or: while condition do ... end");
    } else if ((starts(line, "if") || starts(line, "elseif") || starts(line, "while")) &&
               has_lone_assignment(line)) {
        WHAT("= assigns, it does not compare");
        ADVISE("compare with ==");
    } else {
        return false;
    }
    return true;
}

static bool syntax(const char *m, const char *line, struct words *w)
{
    char token[80], block[40];
    const char *near = strstr(m, " near ");
    if (!near && !has(m, "break outside") && !has(m, "goto") && !has(m, "attempt to assign to const"))
        return false;
    bool at_end = near && has(near, "<eof>");
    quoted(near ? near : m, token, sizeof token);
    if (!strncmp(m, "'end' expected", 14)) {
        const char *opened = strstr(m, "(to close ");
        const char *at = opened ? strstr(opened, "at line ") : NULL;
        quoted(opened ? opened : "", block, sizeof block);
        if (!at_end && habit(line, w))
            return true;
        if (opened && at)
            WHAT("an 'end' is missing: the '%s' of line %d is never closed", block, atoi(at + 8));
        else
            WHAT("an 'end' is missing%s%s%s", at_end ? "" : " before '", at_end ? "" : token,
                 at_end ? "" : "'");
        ADVISE("write 'end' where that block stops");
        return true;
    }
    if (!strncmp(m, "<eof> expected", 14) || (!strncmp(m, "'<eof>' expected", 16))) {
        WHAT("there is one '%s' too many", *token ? token : "end");
        ADVISE("take it out, or look above for the block that should have begun");
        return true;
    }
    if (has(m, "unfinished string") || has(m, "unfinished long string") ||
        has(m, "unfinished long comment")) {
        WHAT("a text is not closed");
        ADVISE("end it with the mark it began with (\" or ' or ]])");
        return true;
    }
    if (habit(line, w))
        return true;
    if (!strncmp(m, "'then' expected", 15)) {
        WHAT("'then' is missing");
        ADVISE("write: if condition then");
    } else if (!strncmp(m, "'do' expected", 13)) {
        WHAT("'do' is missing");
        ADVISE("write: for i = 1, n do   or: while condition do");
    } else if (!strncmp(m, "'=' or 'in' expected", 20)) {
        WHAT("this is no loop that Lua knows");
        ADVISE("write: for i = 1, n do   or: for i, value in ipairs(list) do");
    } else if (!strncmp(m, "'}' expected", 12)) {
        WHAT("a comma or a closing } is missing before %s", at_end ? "the end of the file" : near + 6);
        ADVISE("put a comma between the entries of a table, and } after the last");
    } else if (!strncmp(m, "')' expected", 12)) {
        WHAT("a closing ) or a comma is missing before %s", at_end ? "the end of the file" : near + 6);
        ADVISE("count the brackets of this line");
    } else if (!strncmp(m, "unexpected symbol", 17) && !strcmp(token, "[")) {
        WHAT("a list in Lua is not written with [ ]");
        ADVISE("write { 1, 2, 3 }");
    } else if (!strncmp(m, "unexpected symbol", 17) && at_end) {
        WHAT("the file ends in the middle of an expression");
        ADVISE("complete the last line");
    } else if (has(m, "function arguments expected")) {
        WHAT("after a colon Lua expects a call");
        ADVISE("write x:name(...) to call, x.name to read a field");
    } else if (has(m, "malformed number")) {
        WHAT("'%s' is not a number", token);
        ADVISE("names begin with a letter, numbers hold digits only");
    } else if (!strncmp(m, "syntax error", 12) || !strncmp(m, "unexpected symbol", 17) ||
               has(m, "expected near")) {
        WHAT("Lua does not understand this line from '%s' on (%.*s)", at_end ? "its end" : token,
             (int)(near - m), m);
        ADVISE(
            "a line is an assignment (x = ...), a call (f(...)), or one of local, if, for, while, function, "
            "return");
    } else {
        WHAT("%s", m);
    }
    return true;
}

/* --- errors while it runs ---------------------------------------------------------------------------------- */

/* "(local 'x')", "(global 'x')", "(field 'x')", "(method 'x')", "(upvalue 'x')", "(constant ...)" */
static void subject(const char *m, char *kind, size_t kind_size, char *name, size_t name_size)
{
    *kind = *name = 0;
    const char *open = strrchr(m, '(');
    if (!open)
        return;
    const char *space = strchr(open, ' ');
    if (!space)
        return;
    snprintf(kind, kind_size, "%.*s", (int)(space - open - 1), open + 1);
    quoted(space, name, name_size);
}

static bool runtime(const char *m, const char *line, double cap_mib, struct words *w)
{
    char kind[20], name[64];
    subject(m, kind, sizeof kind, name, sizeof name);
    bool nil = has(m, "a nil value");
    bool element = !strcmp(name, "?") || !strcmp(name, "integer index");
    if (!strncmp(m, "attempt to ", 11) && nil && !strcmp(kind, "global")) {
        WHAT("'%s' is not defined (its value is nil)", name);
        ADVISE("give it a value first, or check the spelling");
    } else if (!strncmp(m, "attempt to call", 15) && nil &&
               (!strcmp(kind, "method") || !strcmp(kind, "field"))) {
        WHAT("there is no function '%s' in that value", name);
        ADVISE("check the spelling");
    } else if (!strncmp(m, "attempt to ", 11) && nil && element) {
        WHAT("an element that is not there (nil) is used");
        ADVISE("indexes begin at 1 in Lua and end at #x");
    } else if (!strncmp(m, "attempt to ", 11) && nil && *name) {
        WHAT("'%s' is nil here", name);
        ADVISE("give the %s '%s' a value before it is used", kind, name);
    } else if (!strncmp(m, "attempt to call", 15)) {
        WHAT("what is called here is not a function (%s)", m + 16);
        ADVISE("check the name before the bracket");
    } else if (!strncmp(m, "attempt to compare", 18)) {
        WHAT("these two cannot be compared (%s)", m + 19);
        ADVISE("both sides must be numbers, or both texts");
    } else if (!strncmp(m, "attempt to concatenate", 22)) {
        WHAT(".. joins texts and numbers, and this is neither (%s)", m + 23);
        ADVISE("use tostring(x)");
    } else if (!strncmp(m, "attempt to perform arithmetic", 29)) {
        WHAT("this is not a number (%s)", m + 30 + (strncmp(m + 29, " on ", 4) ? 0 : 3));
        ADVISE("%s", has(m, "string") && has(line, "+") ? "texts are joined with .."
                     : has(m, "vector")                 ? "vectors are added with x:add(y)"
                                                        : "calculate with numbers only");
    } else if (has(m, "not enough memory") || has(m, "resulting string too large")) {
        WHAT("the script needs more memory than the %.0f MiB it may have", cap_mib);
        ADVISE(
            "look for a table or a text that grows in a loop, or a function that calls itself without end");
    } else if (has(m, "stack overflow")) {
        WHAT("functions call each other without end");
        ADVISE("give the function a case in which it returns without calling itself");
    } else if (has(m, "without coming to an end")) {
        WHAT("%s", m);
        ADVISE("look for a loop that never ends");
    } else if (has(m, "yield across a C-call")) {
        WHAT(
            "comm.send, comm.recv and comm.sendrecv cannot be called from inside sort, gsub or a metamethod");
        ADVISE("call them from the function itself");
    } else if (has(m, "number has no integer representation")) {
        WHAT("a whole number is needed here");
        ADVISE("use // for a whole quotient, or math.floor(x)");
    } else if (has(m, "table index is nil")) {
        WHAT("the index is nil");
        ADVISE("give it a value first");
    } else if (has(m, "'for' ") && has(m, "must be a number")) {
        WHAT("%s", m);
        ADVISE("write: for i = first, last do");
    } else {
        return false;
    }
    return true;
}

void lua_message_translate(const char *message, const char *source, double cap_mib, char *what,
                           size_t what_size, char *advice, size_t advice_size)
{
    struct words words = {what, advice, what_size, advice_size}, *w = &words;
    *advice = 0;
    if (runtime(message, source, cap_mib, w) || syntax(message, source, w))
        return;
    /* Messages of our own carry what to do after a semicolon. */
    const char *semicolon = strstr(message, "; ");
    if (semicolon) {
        snprintf(what, what_size, "%.*s", (int)(semicolon - message), message);
        snprintf(advice, advice_size, "%s", semicolon + 2);
        return;
    }
    snprintf(what, what_size, "%s", message);
}
