/* A stand-in for libnvidia-ml.so.1, so that the real nvidia-ml-py runs where there is no GPU and no driver.
 *
 * Build:  gcc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o DIR/libnvidia-ml.so.1 fake_nvml.c
 * Use:    LD_LIBRARY_PATH=DIR FAKE_NVML_CONTROL=FILE python ...
 *
 * FAKE_NVML_CONTROL names a text file that is read again at every call, so that answers change while a client runs.
 * Replace it by rename. Each line is a key and its values; lines that start with anything else are ignored:
 *
 *   driver VERSION                     gpus COUNT                          delay MICROSECONDS   (of every call)
 *   name GPU TEXT                      uuid GPU TEXT
 *   memory GPU TOTAL USED RESERVED     (bytes; USED is without RESERVED, as memory info v2 counts it)
 *   utilization GPU PERCENT            temperature GPU CELSIUS             power GPU MILLIWATTS
 *   capability GPU MAJOR MINOR
 *   compute GPU PID BYTES|unknown      graphics GPU PID BYTES|unknown
 *   mig GPU DEVICE TEXT                (the GPU is split, this is the name of one part; DEVICE from 0 to 6)
 *   mig_memory GPU DEVICE TOTAL USED RESERVED    mig_compute GPU DEVICE PID BYTES|unknown    (and the other keys)
 *   surge GPU COUNT                    the first time a client asks how long the compute list is, the answer is COUNT
 *   error FUNCTION CODE                error GPU FUNCTION CODE             (FUNCTION may be *; the last match wins)
 *
 * FAKE_NVML_CALLS, if set, names a file to which the name of every called function is appended.
 * Structures and error codes follow nvml.h. A function that isn't here is one that an older driver lacks. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_GPUS = 16, MAX_PARTS = 16, MAX_PARTS_OF_ONE = 7, MAX_PROCESSES = 64, MAX_ERRORS = 32, TEXT = 96 };
enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, VERSION_MISMATCH = 25 };
enum { NO_GPU = -1, MEMORY_V2 = 0x02000028, NO_MIG_INSTANCE = -1 };
static const unsigned long long MIB = 1ULL << 20, NOT_AVAILABLE = ~0ULL;

typedef unsigned long long u64;
typedef void *Device;
typedef struct { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; } Process;
typedef struct { u64 total, free, used; } MemoryV1;
typedef struct { unsigned version; u64 total, reserved, free, used; } MemoryV2;
typedef struct { unsigned gpu, memory; } Utilization;

typedef struct { Process items[MAX_PROCESSES]; unsigned count; } ProcessList;
typedef struct { int gpu; char function[TEXT]; int code; } Error;
typedef struct {
    char name[TEXT], uuid[TEXT];
    u64 total, used, reserved;
    unsigned utilization, temperature, power, surge;
    int major, minor;
    bool surges;
    ProcessList compute, graphics;
} Gpu;
typedef struct { unsigned parent, device; Gpu gpu; } Part; /* a MIG device */
typedef struct {
    char driver[TEXT];
    unsigned count, delay_us, errors_count, parts_count;
    Gpu gpus[MAX_GPUS];
    Part parts[MAX_PARTS];
    Error errors[MAX_ERRORS];
} Machine;

static int initialized;              /* NVML counts its users */
static char handles[MAX_GPUS];       /* a device handle is the address of its element */
static char part_handles[MAX_PARTS]; /* in the order of the control file */
static bool surged[MAX_GPUS];

/* ---- the control file -------------------------------------------------------------------------------------------- */

static void set_defaults(Machine *machine) {
    memset(machine, 0, sizeof *machine);
    strcpy(machine->driver, "580.159.03");
    machine->count = 1;
    for (unsigned i = 0; i < MAX_GPUS; i++) {
        Gpu *gpu = &machine->gpus[i];
        strcpy(gpu->name, "NVIDIA RTX PRO 6000 Blackwell Server Edition");
        snprintf(gpu->uuid, TEXT, "GPU-%08x-0000-4000-8000-000000000000", i);
        gpu->total = 97887 * MIB;
        gpu->reserved = 614 * MIB;
        gpu->temperature = 30;
        gpu->power = 50000;
        gpu->major = 12;
    }
}

static void add_process(ProcessList *list, unsigned pid, const char *used) {
    if (list->count == MAX_PROCESSES) return;
    u64 bytes = strcmp(used, "unknown") ? strtoull(used, NULL, 10) : NOT_AVAILABLE;
    list->items[list->count++] = (Process){pid, bytes, (unsigned)NO_MIG_INSTANCE, (unsigned)NO_MIG_INSTANCE};
}

static void add_error(Machine *machine, const char *line) {
    Error error = {NO_GPU, "", 0};
    bool parsed = sscanf(line, "error %d %95s %d", &error.gpu, error.function, &error.code) == 3;
    if (!parsed) {
        error.gpu = NO_GPU;
        parsed = sscanf(line, "error %95s %d", error.function, &error.code) == 2;
    }
    if (parsed && machine->errors_count < MAX_ERRORS) machine->errors[machine->errors_count++] = error;
}

static void apply_to_gpu(Gpu *gpu, const char *key, const char *values) {
    unsigned pid;
    char used[TEXT];
    if (!strcmp(key, "name")) snprintf(gpu->name, TEXT, "%.95s", values);
    else if (!strcmp(key, "uuid")) snprintf(gpu->uuid, TEXT, "%.95s", values);
    else if (!strcmp(key, "memory")) sscanf(values, "%llu %llu %llu", &gpu->total, &gpu->used, &gpu->reserved);
    else if (!strcmp(key, "utilization")) sscanf(values, "%u", &gpu->utilization);
    else if (!strcmp(key, "temperature")) sscanf(values, "%u", &gpu->temperature);
    else if (!strcmp(key, "power")) sscanf(values, "%u", &gpu->power);
    else if (!strcmp(key, "capability")) sscanf(values, "%d %d", &gpu->major, &gpu->minor);
    else if (!strcmp(key, "surge")) gpu->surges = sscanf(values, "%u", &gpu->surge) == 1;
    else if (sscanf(values, "%u %95s", &pid, used) != 2) return;
    else if (!strcmp(key, "compute")) add_process(&gpu->compute, pid, used);
    else if (!strcmp(key, "graphics")) add_process(&gpu->graphics, pid, used);
}

static Part *find_part(Machine *machine, unsigned parent, unsigned device) {
    for (unsigned i = 0; i < machine->parts_count; i++)
        if (machine->parts[i].parent == parent && machine->parts[i].device == device) return &machine->parts[i];
    return NULL;
}

static Part *find_or_add_part(Machine *machine, unsigned parent, unsigned device) {
    Part *part = find_part(machine, parent, device);
    if (part || machine->parts_count == MAX_PARTS) return part;
    part = &machine->parts[machine->parts_count++];
    part->parent = parent;
    part->device = device;
    snprintf(part->gpu.uuid, TEXT, "MIG-%08x-%04x-4000-8000-000000000000", parent, device);
    return part;
}

/* `mig` names a part, `mig_memory` and the like are of one. */
static void apply_to_part(Machine *machine, const char *key, unsigned parent, const char *values) {
    unsigned device;
    int rest = 0;
    if (sscanf(values, "%u %n", &device, &rest) != 1 || !rest) return;
    Part *part = find_or_add_part(machine, parent, device);
    if (part) apply_to_gpu(&part->gpu, key[3] ? key + 4 : "name", values + rest);
}

static void apply_line(Machine *machine, const char *line) {
    char key[TEXT];
    unsigned gpu;
    int rest = 0;
    if (!strncmp(line, "error ", 6)) add_error(machine, line);
    else if (sscanf(line, "driver %95s", machine->driver) == 1) return;
    else if (sscanf(line, "gpus %u", &machine->count) == 1) return;
    else if (sscanf(line, "delay %u", &machine->delay_us) == 1) return;
    else if (!strncmp(line, "mig", 3) && sscanf(line, "%95s %u %n", key, &gpu, &rest) == 2 && rest && gpu < MAX_GPUS)
        apply_to_part(machine, key, gpu, line + rest);
    else if (sscanf(line, "%95s %u %n", key, &gpu, &rest) == 2 && rest && gpu < MAX_GPUS)
        apply_to_gpu(&machine->gpus[gpu], key, line + rest);
}

static void load(Machine *machine) {
    char line[4 * TEXT];
    const char *path = getenv("FAKE_NVML_CONTROL");
    FILE *file = path ? fopen(path, "r") : NULL;
    set_defaults(machine);
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        apply_line(machine, line);
    }
    fclose(file);
    if (machine->count > MAX_GPUS) machine->count = MAX_GPUS;
}

/* ---- what every call does first ---------------------------------------------------------------------------------- */

static void note_call(const char *function) {
    const char *path = getenv("FAKE_NVML_CALLS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s\n", function);
    fclose(file);
}

static int ordered_error(const Machine *machine, const char *function, int gpu) {
    int code = SUCCESS;
    for (unsigned i = 0; i < machine->errors_count; i++) {
        const Error *error = &machine->errors[i];
        bool same_function = !strcmp(error->function, "*") || !strcmp(error->function, function);
        if (same_function && (error->gpu == NO_GPU || error->gpu == gpu)) code = error->code;
    }
    return code;
}

static int begin(Machine *machine, const char *function, int gpu) {
    note_call(function);
    load(machine);
    if (machine->delay_us) usleep(machine->delay_us);
    return ordered_error(machine, function, gpu);
}

/* Which part a handle means, or -1: it means a whole GPU. */
static int part_of(Device device) {
    char *handle = device;
    return handle >= part_handles && handle < part_handles + MAX_PARTS ? (int)(handle - part_handles) : -1;
}

/* For functions of a device: `machine` and `gpu`, which may be a part of one, are known afterwards. */
#define BEGIN_DEVICE(device)                                                                                           \
    Machine machine;                                                                                                   \
    int part = part_of(device), index = part < 0 ? (int)((char *)(device)-handles) : NO_GPU;                           \
    int code = begin(&machine, __func__, index);                                                                       \
    if (!initialized) return UNINITIALIZED;                                                                            \
    if (part < 0 && (index < 0 || index >= MAX_GPUS)) return INVALID_ARGUMENT;                                         \
    if (part >= (int)machine.parts_count) return INVALID_ARGUMENT;                                                     \
    if (code) return code;                                                                                             \
    Gpu *gpu = part < 0 ? &machine.gpus[index] : &machine.parts[part].gpu;                                             \
    (void)gpu

#define BEGIN_SYSTEM                                                                                                   \
    Machine machine;                                                                                                   \
    int code = begin(&machine, __func__, NO_GPU);                                                                      \
    if (!initialized) return UNINITIALIZED;                                                                            \
    if (code) return code

/* ---- NVML -------------------------------------------------------------------------------------------------------- */

int nvmlInitWithFlags(unsigned flags) {
    Machine machine;
    (void)flags;
    int code = begin(&machine, __func__, NO_GPU);
    if (!code) initialized++;
    return code;
}

int nvmlShutdown(void) {
    BEGIN_SYSTEM;
    initialized--;
    return SUCCESS;
}

const char *nvmlErrorString(int code) {
    return code ? "a fake error" : "Success";
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    BEGIN_SYSTEM;
    snprintf(version, length, "%s", machine.driver);
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    BEGIN_SYSTEM;
    *count = machine.count;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned wanted, Device *device) {
    if (wanted >= MAX_GPUS) return INVALID_ARGUMENT;
    BEGIN_DEVICE(handles + wanted);
    if (wanted >= machine.count) return INVALID_ARGUMENT;
    *device = handles + wanted;
    return SUCCESS;
}

int nvmlDeviceGetName(Device device, char *name, unsigned length) {
    BEGIN_DEVICE(device);
    snprintf(name, length, "%s", gpu->name);
    return SUCCESS;
}

int nvmlDeviceGetUUID(Device device, char *uuid, unsigned length) {
    BEGIN_DEVICE(device);
    snprintf(uuid, length, "%s", gpu->uuid);
    return SUCCESS;
}

/* Version 1 has no word for what the driver keeps, and counts it as used. */
int nvmlDeviceGetMemoryInfo(Device device, MemoryV1 *memory) {
    BEGIN_DEVICE(device);
    u64 used = gpu->used + gpu->reserved;
    *memory = (MemoryV1){gpu->total, gpu->total - used, used};
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2 *memory) {
    BEGIN_DEVICE(device);
    if (memory->version != MEMORY_V2) return VERSION_MISMATCH;
    *memory = (MemoryV2){MEMORY_V2, gpu->total, gpu->reserved, gpu->total - gpu->used - gpu->reserved, gpu->used};
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(Device device, Utilization *rates) {
    BEGIN_DEVICE(device);
    *rates = (Utilization){gpu->utilization, 0};
    return SUCCESS;
}

int nvmlDeviceGetTemperature(Device device, unsigned sensor, unsigned *celsius) {
    (void)sensor;
    BEGIN_DEVICE(device);
    *celsius = gpu->temperature;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(Device device, unsigned *milliwatts) {
    BEGIN_DEVICE(device);
    *milliwatts = gpu->power;
    return SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(Device device, int *major, int *minor) {
    BEGIN_DEVICE(device);
    *major = gpu->major;
    *minor = gpu->minor;
    return SUCCESS;
}

/* Without room for all, only the count is told: clients ask twice. */
static int list_processes(const ProcessList *list, unsigned *count, Process *processes) {
    unsigned room = processes ? *count : 0;
    *count = list->count;
    if (list->count > room) return INSUFFICIENT_SIZE;
    if (list->count) memcpy(processes, list->items, list->count * sizeof(Process));
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *count, Process *processes) {
    BEGIN_DEVICE(device);
    if (gpu->surges && part < 0 && !processes && !surged[index]) {
        surged[index] = true;
        *count = gpu->surge;
        return gpu->surge ? INSUFFICIENT_SIZE : SUCCESS;
    }
    return list_processes(&gpu->compute, count, processes);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned *count, Process *processes) {
    BEGIN_DEVICE(device);
    return list_processes(&gpu->graphics, count, processes);
}

static bool is_split(const Machine *machine, unsigned gpu) {
    for (unsigned i = 0; i < machine->parts_count; i++)
        if (machine->parts[i].parent == gpu) return true;
    return false;
}

int nvmlDeviceGetMigMode(Device device, unsigned *current, unsigned *pending) {
    BEGIN_DEVICE(device);
    *current = *pending = part < 0 && is_split(&machine, (unsigned)index);
    return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *count) {
    BEGIN_DEVICE(device);
    *count = MAX_PARTS_OF_ONE;
    return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned wanted, Device *found) {
    BEGIN_DEVICE(device);
    Part *one = part < 0 ? find_part(&machine, (unsigned)index, wanted) : NULL;
    if (!one) return NOT_FOUND;
    *found = part_handles + (one - machine.parts);
    return SUCCESS;
}
