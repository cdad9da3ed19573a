/* device_report.c - which GPUs there are on this host, for those who ask without a job. */
#include "engine/train/device.h"

#include "engine/base/event.h"

static bool add_gpu(const struct gpu_plugin *plugin, int number, json_t *gpus, struct error *e)
{
    struct gpu_device gpu;
    char text[160];
    if (!plugin->device_info(number, &gpu, e))
        return false;
    gpu_describe(&gpu, text, sizeof text);
    json_t *one = json_object();
    event_set_text(one, "name", gpu.name);
    event_set_text(one, "text", text);
    event_set_integer(one, "free_bytes", (long long)gpu.free_bytes);
    json_array_append_new(gpus, one);
    return true;
}

json_t *device_report(void)
{
    struct error e = {0}, no_nccl = {0};
    char nccl[32];
    json_t *report = json_object(), *gpus = json_array();
    json_object_set_new(report, "gpus", gpus);
    const struct gpu_plugin *plugin = plugin_load(&e);
    int count = plugin ? plugin->device_count(&e) : 0;
    for (int i = 0; i < count && add_gpu(plugin, i, gpus, &e); i++)
        ;
    if (plugin) {
        event_set_text(report, "plugin", plugin->name);
        event_set_text(report, "build", plugin->build);
    }
    if (e.kind != ERROR_NONE)
        event_set_text(report, "missing", e.text);
    else if (plugin && plugin->comm_version(nccl, &no_nccl))
        event_set_text(report, "nccl", nccl);
    else
        event_set_text(report, "nccl_missing", no_nccl.text);
    return report;
}
