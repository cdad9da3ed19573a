/*
 * lua_host_child.c - the sandboxed child of a Lua host.
 */
#include "engine/base/event.h"
#include "engine/base/lua_api.h"
#include "engine/base/lua_jail.h"
#include "engine/launch/lua_host.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct child_channel {
    struct lua_channel channel;
    int fd;
};

double lua_host_seconds(const struct lua_host_script *script)
{
    return script->seconds > 0 ? script->seconds : lua_sandbox_seconds();
}

static bool send_line(int fd, json_t *object, struct error *e)
{
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (!text)
        return error_set(e, ERROR_FAILED, "out of memory");
    size_t length = strlen(text), sent = 0;
    text[length++] = '\n'; /* in the place of the 0 */
    bool ok = true;
    while (ok && sent < length) {
        ssize_t n = send(fd, text + sent, length - sent, MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        else if (n < 0 && errno != EINTR)
            ok = error_errno(e, ERROR_FAILED, "nobody listens to the script any more");
    }
    free(text);
    return ok;
}

static char *receive_line(int fd)
{
    size_t room = 4096, used = 0;
    char *line = malloc(room);
    while (line) {
        ssize_t n = recv(fd, line + used, room - 1 - used, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
        line[used] = 0;
        if (line[used - 1] == '\n')
            return line; /* there is one answer to one request, so nothing follows it */
        if (room - used < 2) {
            char *larger = realloc(line, room *= 2);
            if (!larger)
                break;
            line = larger;
        }
    }
    free(line);
    return NULL;
}

static bool hand_on_event(struct lua_channel *c, json_t *event, struct error *e)
{
    json_t *line = json_object();
    json_object_set_new(line, "event", event);
    return send_line(((struct child_channel *)c)->fd, line, e);
}

static json_t *ask(struct lua_channel *c, json_t *request, struct error *e)
{
    int fd = ((struct child_channel *)c)->fd;
    if (!send_line(fd, request, e))
        return NULL;
    char *line = receive_line(fd);
    json_t *answer = line ? json_loads(line, 0, NULL) : NULL;
    free(line);
    if (!answer) {
        error_set(e, ERROR_FAILED, "the script was stopped");
        return NULL;
    }
    const char *refusal = event_text(answer, "error", NULL);
    json_t *value = refusal ? NULL : json_incref(json_object_get(answer, "value"));
    if (!value)
        error_set(e, ERROR_INPUT, "%s", refusal ? refusal : "there is no answer");
    json_decref(answer);
    return value;
}

static json_t *fault_object(const struct lua_fault *f)
{
    char sentence[1400];
    json_t *object = json_object();
    lua_fault_sentence(f, sentence, sizeof sentence);
    event_set_text(object, "text", sentence);
    event_set_text(object, "file", f->file);
    event_set_integer(object, "line", f->line);
    event_set_text(object, "source", f->source);
    event_set_text(object, "what", f->what);
    event_set_text(object, "todo", f->todo);
    return object;
}

/* What a script describes that ran nothing: the model, why it is none, or that the script did nothing at all. */
static void add_description(json_t *end, struct lua_api *api, bool rank_script)
{
    struct error e = {0};
    json_t *model = lua_api_description(api, &e);
    bool silent = api->lines == 0 && !rank_script;
    if (model)
        json_object_set_new(end, "model", model);
    else if (lua_api_describes(api) || (silent && *api->returned))
        event_set_text(end, "unusable", e.text);
    else if (silent)
        json_object_set_new(end, "idle", json_true());
}

static _Noreturn void child(const struct lua_host_script *script, int fd)
{
    struct child_channel channel = {{hand_on_event, ask}, fd};
    struct lua_api api = {.channel = script->record ? NULL : &channel.channel,
                          .learner_text = script->learner_text,
                          .learner_length = script->learner_length,
                          .learner_shown = script->learner_shown,
                          .instant = script->instant};
    const struct lua_limits limits = {LUA_SANDBOX_MEMORY, lua_host_seconds(script)};
    struct lua_fault fault = {0};
    struct error e = {0};
    lua_jail_enter(fd);
    api.sandbox = lua_sandbox_open(&limits, &e);
    bool ok = api.sandbox && lua_api_open(&api, &e);
    json_t *end = json_object();
    json_object_set_new(end, "end", json_true());
    if (!ok)
        event_set_text(end, "error", e.text);
    bool loaded = ok && lua_sandbox_load(api.sandbox, script->text, script->length, script->shown, &fault);
    if (loaded)
        lua_settop(lua_sandbox_state(api.sandbox), 0); /* lua_api_run compiles it again */
    json_object_set_new(end, "loaded", json_boolean(loaded));
    ok = loaded && lua_api_run(&api, script->text, script->length, script->shown, &fault);
    json_object_set_new(end, "ok", json_boolean(ok));
    if (ok) {
        bool rank_script = lua_api_defines_only(&api, "allreduce");
        json_object_set_new(end, "rank_script", json_boolean(rank_script));
        if (api.calls == 0 && !script->learner_text)
            add_description(end, &api, rank_script);
    }
    if (!ok && !json_object_get(end, "error"))
        json_object_set_new(end, "fault", fault_object(&fault));
    send_line(fd, end, NULL);
    lua_api_close(&api);
    lua_sandbox_close(api.sandbox);
    _exit(ok ? 0 : 1);
}

bool lua_host_fork(const struct lua_host_script *script, pid_t *pid, int *fd, struct error *e)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return error_errno(e, ERROR_FAILED, "no socket to the script's process");
    pid_t parent = getpid();
    *pid = fork();
    if (*pid < 0) {
        error_errno(e, ERROR_FAILED, "the script's process cannot be started");
        close(pair[0]), close(pair[1]);
        return false;
    }
    if (*pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        child(script, pair[1]);
    }
    close(pair[1]);
    *fd = pair[0];
    return true;
}
