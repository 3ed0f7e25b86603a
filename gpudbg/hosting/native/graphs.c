/* Graphs: nodes that come after others, made one by one or by what is asked of captured streams.

   They live in the host program, since a node's work is a call: copies read its memory when the
   graph runs.  Both APIs have the same structures but for copies of boxes. */
#define _GNU_SOURCE
#include "calls.h"
#include "graphs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSUPPORTED 900
#define INVALIDATED 901
#define UNMATCHED 903
#define UNJOINED 904
#define NOT_UPDATED 910

enum kind {
    KERNEL, COPY, FILL, HOST, CHILD, EMPTY, WAIT, RECORD, ALLOCATE = 10, FREE, OPERATIONS, CONDITION
};
enum { IF, WHILE, SWITCH };

/* A condition's handle is the address of its value in device memory, where kernels set it. */
struct condition {
    uint64_t handle;
    uint32_t begins;
    int assigned, holders; /* it has that value whenever a graph begins; graphs that have it */
};

struct node {
    enum kind kind;
    int disabled, mark;
    struct graph *graph;
    struct node **after; /* those that it waits for */
    size_t count;
    struct node *origin; /* what it was copied from */
    struct node *next;
    struct {
        uint64_t function, named; /* as the device has it, as the program named it */
        struct shape shape;
        char *bytes;
        size_t size;
        void **params;
    } kernel;
    struct box box;
    struct fill fill;
    struct {
        void (*function)(void *);
        void *data;
    } host;
    struct graph *child;
    uint64_t event, address, size;
    struct {
        unsigned count;
        struct stream_operation *list;
    } operations;
    struct {
        uint64_t handle;
        int kind;
        unsigned count;
        struct graph **bodies;
    } condition;
};

struct graph {
    struct node *nodes;
    struct condition **conditions;
    unsigned condition_count;
    struct graph *origin;
    int executable;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- nodes ------------------------------------------------------------------------------- */

static struct node *add(struct graph *graph, enum kind kind, struct node *const *after,
                        size_t count)
{
    struct node *made = calloc(1, sizeof *made), **end = &graph->nodes;
    made->kind = kind;
    made->graph = graph;
    made->after = calloc(count + 1, sizeof *after);
    if (count)
        memcpy(made->after, after, count * sizeof *after);
    made->count = count;
    while (*end != NULL)
        end = &(*end)->next;
    return *end = made;
}

static void drop_params(struct node *node)
{
    free(node->kernel.bytes);
    free(node->kernel.params);
    node->kernel.bytes = NULL;
    node->kernel.params = NULL;
}

static void drop_graph(struct graph *graph);

static void drop_bodies(struct node *node)
{
    for (unsigned n = 0; n < node->condition.count; n++)
        drop_graph(node->condition.bodies[n]);
    free(node->condition.bodies);
    node->condition.bodies = NULL;
    node->condition.count = 0;
}

static void drop(struct node *node)
{
    drop_params(node);
    if (node->child != NULL)
        drop_graph(node->child);
    drop_bodies(node);
    free(node->operations.list);
    free(node->after);
    free(node);
}

static void drop_graph(struct graph *graph)
{
    for (struct node *at = graph->nodes, *next; at != NULL; at = next) {
        next = at->next;
        drop(at);
    }
    for (unsigned n = 0; n < graph->condition_count; n++)
        if (!--graph->conditions[n]->holders) {
            cuMemFree_v2(graph->conditions[n]->handle);
            free(graph->conditions[n]);
        }
    free(graph->conditions);
    free(graph);
}

static int set_kernel(struct node *node, uint64_t named, uint64_t function,
                      const struct shape *shape, const void *bytes, size_t size)
{
    drop_params(node);
    node->kernel.named = named;
    node->kernel.function = function;
    node->kernel.shape = *shape;
    node->kernel.bytes = malloc(size + 1);
    memcpy(node->kernel.bytes, bytes, size);
    node->kernel.size = size;
    return host_pointers(function, node->kernel.bytes, &node->kernel.params);
}

static struct graph *cloned(const struct graph *graph);

static struct node *same_in(const struct graph *graph, const struct node *origin)
{
    for (struct node *at = graph->nodes; at != NULL; at = at->next)
        if (at->origin == origin)
            return at;
    return NULL;
}

static void set_operations(struct node *node, unsigned count, const struct stream_operation *list)
{
    struct stream_operation *kept = calloc(count + 1, sizeof *kept);
    if (count)
        memcpy(kept, list, count * sizeof *kept);
    free(node->operations.list);
    node->operations.list = kept;
    node->operations.count = count;
}

static void set_bodies(struct node *to, const struct node *from)
{
    struct graph **bodies = calloc(from->condition.count + 1, sizeof *bodies);
    for (unsigned n = 0; n < from->condition.count; n++)
        bodies[n] = cloned(from->condition.bodies[n]);
    drop_bodies(to);
    to->condition = from->condition;
    to->condition.bodies = bodies;
}

static void hold(struct graph *graph, struct condition *condition)
{
    size_t size = (graph->condition_count + 1) * sizeof *graph->conditions;
    graph->conditions = realloc(graph->conditions, size);
    graph->conditions[graph->condition_count++] = condition;
    condition->holders++;
}

static void take_over(struct node *to, const struct node *from)
{
    if (from->kind == OPERATIONS)
        set_operations(to, from->operations.count, from->operations.list);
    if (from->kind == CONDITION)
        set_bodies(to, from);
    if (from->kind == KERNEL)
        set_kernel(to, from->kernel.named, from->kernel.function, &from->kernel.shape,
                   from->kernel.bytes, from->kernel.size);
    if (to->child != NULL)
        drop_graph(to->child);
    to->child = from->child == NULL ? NULL : cloned(from->child);
    to->box = from->box, to->fill = from->fill, to->host = from->host;
    to->event = from->event, to->address = from->address, to->size = from->size;
    to->disabled = from->disabled;
}

static struct graph *cloned(const struct graph *graph)
{
    struct graph *made = calloc(1, sizeof *made);
    made->origin = (struct graph *)graph;
    for (unsigned n = 0; n < graph->condition_count; n++)
        hold(made, graph->conditions[n]);
    for (struct node *at = graph->nodes; at != NULL; at = at->next) {
        struct node *copy = add(made, at->kind, at->after, at->count);
        copy->origin = at;
        take_over(copy, at);
    }
    for (struct node *at = made->nodes; at != NULL; at = at->next)
        for (size_t n = 0; n < at->count; n++)
            at->after[n] = same_in(made, at->after[n]);
    return made;
}

/* Put nodes behind those that they wait for; whether that can be. */
static int sort(struct graph *graph)
{
    struct node *done = NULL, **end = &done;
    for (struct node *at = graph->nodes; at != NULL; at = at->next)
        at->mark = 0;
    while (graph->nodes != NULL) {
        struct node **place = &graph->nodes;
        for (; *place != NULL; place = &(*place)->next) {
            size_t ready = 0;
            while (ready < (*place)->count && (*place)->after[ready]->mark)
                ready++;
            if (ready == (*place)->count)
                break;
        }
        struct node *found = *place;
        if (found == NULL) {
            *end = graph->nodes;
            graph->nodes = done;
            return 0;
        }
        *place = found->next;
        found->next = NULL;
        found->mark = 1;
        *end = found;
        end = &found->next;
    }
    graph->nodes = done;
    return 1;
}

/* ---- running ----------------------------------------------------------------------------- */

static int run(const struct graph *graph, uint64_t stream);

/* Conditions that begin with a value have it again; those of inner graphs, too. */
static int begin_conditions(const struct graph *graph)
{
    int status = STATUS_OK;
    for (unsigned n = 0; n < graph->condition_count && !status; n++)
        if (graph->conditions[n]->assigned)
            status = host_copy_in(graph->conditions[n]->handle, &graph->conditions[n]->begins, 4);
    for (const struct node *at = graph->nodes; at != NULL && !status; at = at->next) {
        if (at->child != NULL)
            status = begin_conditions(at->child);
        for (unsigned n = 0; n < at->condition.count && !status; n++)
            status = begin_conditions(at->condition.bodies[n]);
    }
    return status;
}

static int run_condition(const struct node *node, uint64_t stream)
{
    uint32_t value;
    int status = host_copy_out(&value, node->condition.handle, 4);
    switch (node->condition.kind) {
    case WHILE:
        while (!status && value) {
            status = run(node->condition.bodies[0], stream);
            if (!status)
                status = host_copy_out(&value, node->condition.handle, 4);
        }
        return status;
    case IF:
        value = value ? 0 : 1;
    }
    return status || value >= node->condition.count ? status
                                                    : run(node->condition.bodies[value], stream);
}

static int run_node(const struct node *node, uint64_t stream)
{
    struct box box = node->box;
    switch (node->kind) {
    case KERNEL:
        return host_launch(node->kernel.function, &node->kernel.shape, node->kernel.bytes,
                           node->kernel.size);
    case COPY:
        return host_copy_box(&box);
    case FILL:
        return host_fill(node->fill.to, node->fill.pitch, node->fill.value, node->fill.width,
                         node->fill.across * node->fill.width, node->fill.rows);
    case HOST:
        node->host.function(node->host.data);
        return STATUS_OK;
    case CHILD:
        return run(node->child, stream);
    case RECORD:
        return host_event_record(node->event, stream);
    case ALLOCATE:
        return host_allocate_again(node->address, node->size);
    case OPERATIONS:
        return host_operations(node->operations.count, node->operations.list);
    case CONDITION:
        return run_condition(node, stream);
    default:
        return STATUS_OK;
    }
}

static int run(const struct graph *graph, uint64_t stream)
{
    int status = host_faulted();
    for (const struct node *at = graph->nodes; at != NULL && !status; at = at->next)
        if (!at->disabled)
            status = run_node(at, stream);
    return status;
}

/* ---- captures ---------------------------------------------------------------------------- */

struct capture {
    uint64_t stream, number;
    struct graph *graph;
    struct node **last; /* what comes next waits for these */
    size_t count;
    int begun, invalid; /* it began here, and was not joined; something was asked that cannot be */
    struct capture *next;
};
struct record {
    uint64_t event, number;
    struct node **last;
    size_t count;
    struct record *next;
};
static struct capture *captures;
static struct record *records;

static struct capture *capturing(uint64_t stream)
{
    struct capture *at = captures;
    while (at != NULL && at->stream != stream)
        at = at->next;
    return at;
}

static void set_last(struct capture *capture, struct node *const *last, size_t count)
{
    struct node **kept = calloc(count + 1, sizeof *kept);
    if (count)
        memcpy(kept, last, count * sizeof *kept);
    free(capture->last);
    capture->last = kept;
    capture->count = count;
}

static struct node *captured(struct capture *capture, enum kind kind)
{
    struct node *made = add(capture->graph, kind, capture->last, capture->count);
    set_last(capture, &made, 1);
    return made;
}

int capture_kernel(uint64_t function, const struct shape *shape, const void *params, size_t size,
                   int *status)
{
    struct capture *found = captures == NULL ? NULL : capturing(shape->stream);
    if (found == NULL)
        return 0;
    *status = set_kernel(captured(found, KERNEL), function, function, shape, params, size);
    return 1;
}

int capture_box(uint64_t stream, const struct box *box, int *status)
{
    struct capture *found = captures == NULL ? NULL : capturing(stream);
    if (found == NULL)
        return 0;
    captured(found, COPY)->box = *box;
    *status = STATUS_OK;
    return 1;
}

static struct box flat_box(uint64_t to, uint64_t from, uint64_t size)
{
    struct box_side there = {.kind = IN_EITHER, .device = to};
    struct box_side here = {.kind = IN_EITHER, .device = from};
    return (struct box){here, there, size, 1, 1};
}

int capture_copy(uint64_t stream, uint64_t to, uint64_t from, uint64_t size, int *status)
{
    struct box box = flat_box(to, from, size);
    return captures == NULL ? 0 : capture_box(stream, &box, status);
}

int capture_fill(uint64_t stream, const struct fill *fill, int *status)
{
    struct capture *found = captures == NULL ? NULL : capturing(stream);
    if (found == NULL)
        return 0;
    captured(found, FILL)->fill = *fill;
    *status = STATUS_OK;
    return 1;
}

int capture_host(uint64_t stream, void (*function)(void *), void *data, int *status)
{
    struct capture *found = captures == NULL ? NULL : capturing(stream);
    if (found == NULL)
        return 0;
    struct node *made = captured(found, HOST);
    made->host.function = function;
    made->host.data = data;
    *status = STATUS_OK;
    return 1;
}

int capture_operations(uint64_t stream, unsigned count, const struct stream_operation *list,
                       int *status)
{
    struct capture *found = captures == NULL ? NULL : capturing(stream);
    if (found == NULL)
        return 0;
    set_operations(captured(found, OPERATIONS), count, list);
    *status = STATUS_OK;
    return 1;
}

/* Memory that a graph allocates is there from its capture on, and stays. */
int capture_free(uint64_t stream, uint64_t address, int *status)
{
    struct capture *found = captures == NULL ? NULL : capturing(stream);
    if (found == NULL)
        return 0;
    captured(found, FREE)->address = address;
    *status = STATUS_OK;
    return 1;
}

static struct capture *begin(uint64_t stream, struct graph *graph, uint64_t number)
{
    struct capture *made = calloc(1, sizeof *made);
    made->stream = stream;
    made->graph = graph;
    made->number = number;
    made->next = captures;
    captures = made;
    return made;
}

EXPORT int cuStreamBeginCaptureToGraph(uint64_t stream, struct graph *graph,
                                       struct node *const *after, const void *edges, size_t count,
                                       int mode)
{
    static uint64_t number;
    pthread_mutex_lock(&lock);
    int refused = stream == 0 || stream == 1 || capturing(stream) != NULL;
    if (!refused) {
        struct capture *made = begin(stream, graph, ++number);
        made->begun = 1;
        set_last(made, after, count);
    }
    pthread_mutex_unlock(&lock);
    return refused ? (stream > 1 ? 401 : UNSUPPORTED) : STATUS_OK;
}

EXPORT int cuStreamBeginCapture_v2(uint64_t stream, int mode)
{
    struct graph *graph = calloc(1, sizeof *graph);
    int status = cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, mode);
    if (status)
        free(graph);
    return status;
}

EXPORT int cuStreamBeginCapture(uint64_t stream)
{
    return cuStreamBeginCapture_v2(stream, 0);
}

/* Whether every node that none waits for is one that the stream's end waits for. */
static int joined(const struct capture *capture)
{
    struct node *at;
    for (at = capture->graph->nodes; at != NULL; at = at->next)
        at->mark = 0;
    for (at = capture->graph->nodes; at != NULL; at = at->next)
        for (size_t n = 0; n < at->count; n++)
            at->after[n]->mark = 1;
    for (size_t n = 0; n < capture->count; n++)
        capture->last[n]->mark = 1;
    for (at = capture->graph->nodes; at != NULL && at->mark; at = at->next)
        ;
    return at == NULL;
}

EXPORT int cuStreamEndCapture(uint64_t stream, struct graph **graph)
{
    pthread_mutex_lock(&lock);
    struct capture *found = capturing(stream);
    int status = found == NULL ? 401 : !found->begun ? UNMATCHED : STATUS_OK;
    if (!status) {
        uint64_t number = found->number;
        status = found->invalid ? INVALIDATED : joined(found) ? STATUS_OK : UNJOINED;
        if (graph != NULL)
            *graph = status ? NULL : found->graph;
        for (struct capture **at = &captures; *at != NULL;) {
            struct capture *gone = *at;
            if (gone->number != number) {
                at = &gone->next;
                continue;
            }
            *at = gone->next;
            free(gone->last);
            free(gone);
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static int capture_state(uint64_t stream, int *state, uint64_t *number, struct graph **graph,
                         struct node *const **last, size_t *count)
{
    pthread_mutex_lock(&lock);
    struct capture *found = captures == NULL ? NULL : capturing(stream);
    *state = found == NULL ? 0 : found->invalid ? 2 : 1;
    if (number != NULL)
        *number = found == NULL ? 0 : found->number;
    if (graph != NULL)
        *graph = found == NULL ? NULL : found->graph;
    if (last != NULL)
        *last = found == NULL ? NULL : found->last;
    if (count != NULL)
        *count = found == NULL ? 0 : found->count;
    pthread_mutex_unlock(&lock);
    return STATUS_OK;
}

EXPORT int cuStreamIsCapturing(uint64_t stream, int *state)
{
    return capture_state(stream, state, NULL, NULL, NULL, NULL);
}

EXPORT int cuStreamGetCaptureInfo(uint64_t stream, int *state, uint64_t *number)
{
    return capture_state(stream, state, number, NULL, NULL, NULL);
}

EXPORT int cuStreamGetCaptureInfo_v2(uint64_t stream, int *state, uint64_t *number,
                                     struct graph **graph, struct node *const **last,
                                     size_t *count)
{
    return capture_state(stream, state, number, graph, last, count);
}

EXPORT int cuStreamGetCaptureInfo_v3(uint64_t stream, int *state, uint64_t *number,
                                     struct graph **graph, struct node *const **last,
                                     const void **edges, size_t *count)
{
    if (edges != NULL)
        *edges = NULL;
    return capture_state(stream, state, number, graph, last, count);
}

EXPORT int cuStreamUpdateCaptureDependencies(uint64_t stream, struct node **nodes, size_t count,
                                             unsigned replace)
{
    struct capture *found = capturing(stream);
    if (found == NULL)
        return 401;
    size_t kept = replace ? 0 : found->count;
    struct node **all = calloc(kept + count + 1, sizeof *all);
    memcpy(all, found->last, kept * sizeof *all);
    if (count)
        memcpy(all + kept, nodes, count * sizeof *all);
    set_last(found, all, kept + count);
    free(all);
    return STATUS_OK;
}

EXPORT int cuStreamUpdateCaptureDependencies_v2(uint64_t stream, struct node **nodes,
                                                const void *edges, size_t count, unsigned replace)
{
    return cuStreamUpdateCaptureDependencies(stream, nodes, count, replace);
}

/* What asks whether a captured stream is done spoils the capture. */
static int spoiled(uint64_t stream)
{
    struct capture *found = captures == NULL ? NULL : capturing(stream);
    if (found != NULL)
        found->invalid = 1;
    return found != NULL;
}

EXPORT int cuStreamSynchronize(uint64_t stream)
{
    return spoiled(stream) ? UNSUPPORTED : host_sync(stream);
}

EXPORT int cuStreamQuery(uint64_t stream)
{
    return spoiled(stream) ? UNSUPPORTED : host_sync(stream);
}

EXPORT int cuEventRecord(uint64_t event, uint64_t stream)
{
    struct capture *found = captures == NULL ? NULL : capturing(stream);
    if (found == NULL)
        return host_event_record(event, stream);
    struct record *at = records;
    while (at != NULL && at->event != event)
        at = at->next;
    if (at == NULL) {
        at = calloc(1, sizeof *at);
        at->event = event, at->next = records;
        records = at;
    }
    free(at->last);
    at->number = found->number, at->count = found->count;
    at->last = calloc(at->count + 1, sizeof *at->last);
    memcpy(at->last, found->last, at->count * sizeof *at->last);
    return STATUS_OK;
}

EXPORT int cuEventRecordWithFlags(uint64_t event, uint64_t stream, unsigned flags)
{
    struct capture *found = captures == NULL ? NULL : capturing(stream);
    if (found == NULL || !(flags & 1))
        return cuEventRecord(event, stream);
    captured(found, RECORD)->event = event; /* an event that others outside see */
    return STATUS_OK;
}

EXPORT int cuStreamWaitEvent(uint64_t stream, uint64_t event, unsigned flags)
{
    struct record *at = captures == NULL ? NULL : records;
    while (at != NULL && at->event != event)
        at = at->next;
    struct capture *source = captures;
    while (at != NULL && source != NULL && source->number != at->number)
        source = source->next;
    if (at == NULL || source == NULL)
        return capturing(stream) != NULL ? STATUS_OK : host_stream_wait(stream, event, flags);
    pthread_mutex_lock(&lock);
    struct capture *found = capturing(stream);
    if (found == NULL)
        found = begin(stream, source->graph, at->number);
    pthread_mutex_unlock(&lock);
    struct node **all = calloc(found->count + at->count + 1, sizeof *all);
    size_t count = found->count;
    if (count)
        memcpy(all, found->last, count * sizeof *all);
    for (size_t n = 0; n < at->count; n++) {
        size_t known = 0;
        while (known < count && all[known] != at->last[n])
            known++;
        if (known == count)
            all[count++] = at->last[n];
    }
    set_last(found, all, count);
    free(all);
    return STATUS_OK;
}

EXPORT int cuThreadExchangeStreamCaptureMode(int *mode)
{
    static __thread int present;
    int given = *mode;
    *mode = present;
    present = given;
    return STATUS_OK;
}

/* ---- graphs ------------------------------------------------------------------------------ */

EXPORT int cuGraphCreate(struct graph **graph, unsigned flags)
{
    if (graph == NULL || flags)
        return STATUS_INVALID_VALUE;
    *graph = calloc(1, sizeof **graph);
    return STATUS_OK;
}

EXPORT int cuGraphDestroy(struct graph *graph)
{
    if (graph == NULL)
        return STATUS_INVALID_VALUE;
    drop_graph(graph);
    return STATUS_OK;
}

EXPORT int cuGraphClone(struct graph **made, struct graph *graph)
{
    if (graph == NULL || made == NULL)
        return STATUS_INVALID_VALUE;
    *made = cloned(graph);
    return STATUS_OK;
}

EXPORT int cuGraphNodeFindInClone(struct node **found, struct node *node, struct graph *graph)
{
    *found = same_in(graph, node);
    return *found == NULL ? STATUS_INVALID_VALUE : STATUS_OK;
}

EXPORT int cuGraphNodeGetType(struct node *node, int *kind)
{
    *kind = node->kind;
    return STATUS_OK;
}

static int listed(struct node **to, size_t *most, size_t n, struct node *node)
{
    if (to != NULL && n < *most)
        to[n] = node;
    return 1;
}

static void end_list(struct node **to, size_t *most, size_t count)
{
    for (size_t n = count; to != NULL && n < *most; n++)
        to[n] = NULL;
    *most = to == NULL || count < *most ? count : *most;
}

EXPORT int cuGraphGetNodes(struct graph *graph, struct node **nodes, size_t *count)
{
    size_t n = 0;
    for (struct node *at = graph->nodes; at != NULL; at = at->next)
        n += listed(nodes, count, n, at);
    end_list(nodes, count, n);
    return STATUS_OK;
}

EXPORT int cuGraphGetRootNodes(struct graph *graph, struct node **nodes, size_t *count)
{
    size_t n = 0;
    for (struct node *at = graph->nodes; at != NULL; at = at->next)
        if (!at->count)
            n += listed(nodes, count, n, at);
    end_list(nodes, count, n);
    return STATUS_OK;
}

EXPORT int cuGraphGetEdges(struct graph *graph, struct node **from, struct node **to,
                           size_t *count)
{
    size_t n = 0;
    for (struct node *at = graph->nodes; at != NULL; at = at->next)
        for (size_t k = 0; k < at->count; k++) {
            listed(from, count, n, at->after[k]);
            n += listed(to, count, n, at);
        }
    if (from == NULL || n < *count)
        *count = n;
    return STATUS_OK;
}

EXPORT int cuGraphGetEdges_v2(struct graph *graph, struct node **from, struct node **to,
                              void *edges, size_t *count)
{
    int status = cuGraphGetEdges(graph, from, to, count);
    if (edges != NULL)
        memset(edges, 0, *count * 8);
    return status;
}

EXPORT int cuGraphNodeGetDependencies(struct node *node, struct node **nodes, size_t *count)
{
    for (size_t n = 0; n < node->count; n++)
        listed(nodes, count, n, node->after[n]);
    end_list(nodes, count, node->count);
    return STATUS_OK;
}

EXPORT int cuGraphNodeGetDependencies_v2(struct node *node, struct node **nodes, void *edges,
                                         size_t *count)
{
    return cuGraphNodeGetDependencies(node, nodes, count);
}

EXPORT int cuGraphNodeGetDependentNodes(struct node *node, struct node **nodes, size_t *count)
{
    size_t found = 0;
    for (struct node *at = node->graph->nodes; at != NULL; at = at->next)
        for (size_t n = 0; n < at->count; n++)
            if (at->after[n] == node)
                found += listed(nodes, count, found, at);
    end_list(nodes, count, found);
    return STATUS_OK;
}

EXPORT int cuGraphNodeGetDependentNodes_v2(struct node *node, struct node **nodes, void *edges,
                                           size_t *count)
{
    return cuGraphNodeGetDependentNodes(node, nodes, count);
}

EXPORT int cuGraphAddDependencies(struct graph *graph, struct node *const *from,
                                  struct node *const *to, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        struct node *node = to[n];
        node->after = realloc(node->after, (node->count + 2) * sizeof *node->after);
        node->after[node->count++] = from[n];
    }
    return STATUS_OK;
}

EXPORT int cuGraphAddDependencies_v2(struct graph *graph, struct node *const *from,
                                     struct node *const *to, const void *edges, size_t count)
{
    return cuGraphAddDependencies(graph, from, to, count);
}

static void forget(struct node *node, const struct node *other)
{
    size_t kept = 0;
    for (size_t n = 0; n < node->count; n++)
        if (node->after[n] != other)
            node->after[kept++] = node->after[n];
    node->count = kept;
}

EXPORT int cuGraphRemoveDependencies(struct graph *graph, struct node *const *from,
                                     struct node *const *to, size_t count)
{
    for (size_t n = 0; n < count; n++)
        forget(to[n], from[n]);
    return STATUS_OK;
}

EXPORT int cuGraphRemoveDependencies_v2(struct graph *graph, struct node *const *from,
                                        struct node *const *to, const void *edges, size_t count)
{
    return cuGraphRemoveDependencies(graph, from, to, count);
}

EXPORT int cuGraphDestroyNode(struct node *node)
{
    for (struct node **at = &node->graph->nodes; *at != NULL;) {
        if (*at == node) {
            *at = node->next;
            continue;
        }
        forget(*at, node);
        at = &(*at)->next;
    }
    drop(node);
    return STATUS_OK;
}

EXPORT int cuGraphDebugDotPrint(struct graph *graph, const char *path, unsigned flags)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return 304;
    fprintf(file, "digraph {\n");
    for (struct node *at = graph->nodes; at != NULL; at = at->next) {
        fprintf(file, "  \"%p\" [label=\"%d\"];\n", (void *)at, at->kind);
        for (size_t n = 0; n < at->count; n++)
            fprintf(file, "  \"%p\" -> \"%p\";\n", (void *)at->after[n], (void *)at);
    }
    fprintf(file, "}\n");
    return fclose(file) ? 304 : STATUS_OK;
}

/* ---- kinds of nodes ---------------------------------------------------------------------- */

struct kernel_params {
    uint64_t function;
    uint32_t grid[3], block[3], shared;
    void **params, **extra;
};

/* `named` is a kernel of the program's in the runtime API. */
static int take_kernel(struct node *node, const struct kernel_params *given, int runtime)
{
    uint64_t function = given->function;
    int status = runtime ? runtime_function(given->function, &function) : STATUS_OK;
    struct shape shape = node->kernel.shape;
    char *bytes = NULL;
    size_t size = 0;
    memcpy(shape.grid, given->grid, sizeof shape.grid);
    memcpy(shape.block, given->block, sizeof shape.block);
    shape.shared = given->shared;
    if (!status)
        status = host_gather(function, given->params, given->extra, &bytes, &size);
    if (!status)
        status = set_kernel(node, given->function, function, &shape, bytes, size);
    free(bytes);
    return status;
}

static int give_kernel(const struct node *node, struct kernel_params *out)
{
    *out = (struct kernel_params){.function = node->kernel.named,
                                  .shared = node->kernel.shape.shared,
                                  .params = node->kernel.params};
    memcpy(out->grid, node->kernel.shape.grid, sizeof out->grid);
    memcpy(out->block, node->kernel.shape.block, sizeof out->block);
    return STATUS_OK;
}

struct host_params {
    void (*function)(void *);
    void *data;
};

/* The node in an instance that a graph's node has become. */
static struct node *inside(struct graph *instance, struct node *node)
{
    struct node *found = same_in(instance, node);
    return found == NULL && node->graph == instance ? node : found;
}

#define REFUSE(bad)                                                                                \
    if (bad)                                                                                       \
        return STATUS_INVALID_VALUE;

static int add_kernel(struct node **made, struct graph *graph, struct node *const *after,
                      size_t count, const struct kernel_params *params, int runtime)
{
    REFUSE(made == NULL || graph == NULL || params == NULL)
    *made = add(graph, KERNEL, after, count);
    int status = take_kernel(*made, params, runtime);
    if (status)
        cuGraphDestroyNode(*made);
    return status;
}

EXPORT int cuGraphAddKernelNode_v2(struct node **made, struct graph *graph,
                                   struct node *const *after, size_t count,
                                   const struct kernel_params *params)
{
    return add_kernel(made, graph, after, count, params, 0);
}

EXPORT int cuGraphAddKernelNode(struct node **made, struct graph *graph, struct node *const *after,
                                size_t count, const struct kernel_params *params)
{
    return add_kernel(made, graph, after, count, params, 0);
}

EXPORT int cudaGraphAddKernelNode(struct node **made, struct graph *graph,
                                  struct node *const *after, size_t count,
                                  const struct kernel_params *params)
{
    int status = runtime_enter();
    return runtime_status(status ? status : add_kernel(made, graph, after, count, params, 1));
}

EXPORT int cuGraphKernelNodeGetParams_v2(struct node *node, struct kernel_params *params)
{
    /* Behind it are a CUkernel and a context. */
    memset((char *)params + sizeof *params, 0, 16);
    return give_kernel(node, params);
}

EXPORT int cuGraphKernelNodeGetParams(struct node *node, struct kernel_params *params)
{
    return give_kernel(node, params);
}

EXPORT int cudaGraphKernelNodeGetParams(struct node *node, struct kernel_params *params)
{
    return give_kernel(node, params);
}

EXPORT int cuGraphKernelNodeSetParams_v2(struct node *node, const struct kernel_params *params)
{
    return take_kernel(node, params, 0);
}

EXPORT int cuGraphKernelNodeSetParams(struct node *node, const struct kernel_params *params)
{
    return take_kernel(node, params, 0);
}

EXPORT int cudaGraphKernelNodeSetParams(struct node *node, const struct kernel_params *params)
{
    return runtime_status(take_kernel(node, params, 1));
}

static int set_inside(struct graph *instance, struct node *node, enum kind kind,
                      struct node **found)
{
    REFUSE(instance == NULL || node == NULL)
    *found = inside(instance, node);
    return *found == NULL || (*found)->kind != kind ? STATUS_INVALID_VALUE : STATUS_OK;
}

static int kernel_inside(struct graph *instance, struct node *node,
                         const struct kernel_params *params, int runtime)
{
    struct node *found;
    int status = set_inside(instance, node, KERNEL, &found);
    return status ? status : take_kernel(found, params, runtime);
}

EXPORT int cuGraphExecKernelNodeSetParams_v2(struct graph *instance, struct node *node,
                                             const struct kernel_params *params)
{
    return kernel_inside(instance, node, params, 0);
}

EXPORT int cuGraphExecKernelNodeSetParams(struct graph *instance, struct node *node,
                                          const struct kernel_params *params)
{
    return kernel_inside(instance, node, params, 0);
}

EXPORT int cudaGraphExecKernelNodeSetParams(struct graph *instance, struct node *node,
                                            const struct kernel_params *params)
{
    return runtime_status(kernel_inside(instance, node, params, 1));
}

/* Of the attributes of launches cooperation and clusters count here. */
EXPORT int cuGraphKernelNodeSetAttribute(struct node *node, int number, const void *value)
{
    char attribute[72] = {0};
    memcpy(attribute, &number, sizeof number);
    memcpy(attribute + 8, value, 64);
    return host_take_attributes(&node->kernel.shape, attribute, 1);
}

EXPORT int cuGraphKernelNodeGetAttribute(struct node *node, int number, void *value)
{
    memset(value, 0, 64);
    if (number == 2)
        memcpy(value, &node->kernel.shape.cooperative, 4);
    if (number == 4)
        memcpy(value, node->kernel.shape.cluster, sizeof node->kernel.shape.cluster);
    return STATUS_OK;
}

EXPORT int cuGraphKernelNodeCopyAttributes(struct node *to, struct node *from)
{
    to->kernel.shape.cooperative = from->kernel.shape.cooperative;
    memcpy(to->kernel.shape.cluster, from->kernel.shape.cluster, sizeof to->kernel.shape.cluster);
    return STATUS_OK;
}

EXPORT int cuGraphAddMemcpyNode(struct node **made, struct graph *graph, struct node *const *after,
                                size_t count, const struct box *box, uint64_t context)
{
    REFUSE(made == NULL || graph == NULL || box == NULL)
    *made = add(graph, COPY, after, count);
    (*made)->box = *box;
    return STATUS_OK;
}

EXPORT int cuGraphMemcpyNodeGetParams(struct node *node, struct box *box)
{
    *box = node->box;
    return STATUS_OK;
}

EXPORT int cuGraphMemcpyNodeSetParams(struct node *node, const struct box *box)
{
    node->box = *box;
    return STATUS_OK;
}

EXPORT int cuGraphExecMemcpyNodeSetParams(struct graph *instance, struct node *node,
                                          const struct box *box, uint64_t context)
{
    struct node *found;
    int status = set_inside(instance, node, COPY, &found);
    if (!status)
        found->box = *box;
    return status;
}

int graph_add_copy(struct node **made, struct graph *graph, struct node *const *after,
                   size_t count, const struct box *box)
{
    return cuGraphAddMemcpyNode(made, graph, after, count, box, 0);
}

int graph_set_copy(struct graph *instance, struct node *node, const struct box *box)
{
    return instance == NULL ? cuGraphMemcpyNodeSetParams(node, box)
                            : cuGraphExecMemcpyNodeSetParams(instance, node, box, 0);
}

EXPORT int cuGraphAddMemsetNode(struct node **made, struct graph *graph, struct node *const *after,
                                size_t count, const struct fill *fill, uint64_t context)
{
    REFUSE(made == NULL || graph == NULL || fill == NULL)
    *made = add(graph, FILL, after, count);
    (*made)->fill = *fill;
    return STATUS_OK;
}

EXPORT int cuGraphMemsetNodeGetParams(struct node *node, struct fill *fill)
{
    *fill = node->fill;
    return STATUS_OK;
}

EXPORT int cuGraphMemsetNodeSetParams(struct node *node, const struct fill *fill)
{
    node->fill = *fill;
    return STATUS_OK;
}

EXPORT int cuGraphExecMemsetNodeSetParams(struct graph *instance, struct node *node,
                                          const struct fill *fill, uint64_t context)
{
    struct node *found;
    int status = set_inside(instance, node, FILL, &found);
    if (!status)
        found->fill = *fill;
    return status;
}

EXPORT int cuGraphAddHostNode(struct node **made, struct graph *graph, struct node *const *after,
                              size_t count, const struct host_params *params)
{
    REFUSE(made == NULL || graph == NULL || params == NULL)
    *made = add(graph, HOST, after, count);
    memcpy(&(*made)->host, params, sizeof *params);
    return STATUS_OK;
}

EXPORT int cuGraphHostNodeGetParams(struct node *node, struct host_params *params)
{
    memcpy(params, &node->host, sizeof *params);
    return STATUS_OK;
}

EXPORT int cuGraphHostNodeSetParams(struct node *node, const struct host_params *params)
{
    memcpy(&node->host, params, sizeof *params);
    return STATUS_OK;
}

EXPORT int cuGraphExecHostNodeSetParams(struct graph *instance, struct node *node,
                                        const struct host_params *params)
{
    struct node *found;
    int status = set_inside(instance, node, HOST, &found);
    if (!status)
        memcpy(&found->host, params, sizeof *params);
    return status;
}

EXPORT int cuGraphAddEmptyNode(struct node **made, struct graph *graph, struct node *const *after,
                               size_t count)
{
    REFUSE(made == NULL || graph == NULL)
    *made = add(graph, EMPTY, after, count);
    return STATUS_OK;
}

EXPORT int cuGraphAddChildGraphNode(struct node **made, struct graph *graph,
                                    struct node *const *after, size_t count, struct graph *child)
{
    REFUSE(made == NULL || graph == NULL || child == NULL)
    *made = add(graph, CHILD, after, count);
    (*made)->child = cloned(child);
    return STATUS_OK;
}

EXPORT int cuGraphChildGraphNodeGetGraph(struct node *node, struct graph **child)
{
    *child = node->child;
    return *child == NULL ? STATUS_INVALID_VALUE : STATUS_OK;
}

EXPORT int cuGraphExecChildGraphNodeSetParams(struct graph *instance, struct node *node,
                                              struct graph *child)
{
    struct node *found;
    int status = set_inside(instance, node, CHILD, &found);
    if (status)
        return status;
    drop_graph(found->child);
    found->child = cloned(child);
    return sort(found->child) ? STATUS_OK : STATUS_INVALID_VALUE;
}

static int add_event(struct node **made, struct graph *graph, struct node *const *after,
                     size_t count, uint64_t event, enum kind kind)
{
    REFUSE(made == NULL || graph == NULL)
    *made = add(graph, kind, after, count);
    (*made)->event = event;
    return STATUS_OK;
}

EXPORT int cuGraphAddEventRecordNode(struct node **made, struct graph *graph,
                                     struct node *const *after, size_t count, uint64_t event)
{
    return add_event(made, graph, after, count, event, RECORD);
}

EXPORT int cuGraphAddEventWaitNode(struct node **made, struct graph *graph,
                                   struct node *const *after, size_t count, uint64_t event)
{
    return add_event(made, graph, after, count, event, WAIT);
}

EXPORT int cuGraphEventRecordNodeGetEvent(struct node *node, uint64_t *event)
{
    *event = node->event;
    return STATUS_OK;
}

EXPORT int cuGraphEventRecordNodeSetEvent(struct node *node, uint64_t event)
{
    node->event = event;
    return STATUS_OK;
}

static int event_inside(struct graph *instance, struct node *node, uint64_t event, enum kind kind)
{
    struct node *found;
    int status = set_inside(instance, node, kind, &found);
    if (!status)
        found->event = event;
    return status;
}

EXPORT int cuGraphExecEventRecordNodeSetEvent(struct graph *instance, struct node *node,
                                              uint64_t event)
{
    return event_inside(instance, node, event, RECORD);
}

EXPORT int cuGraphExecEventWaitNodeSetEvent(struct graph *instance, struct node *node,
                                            uint64_t event)
{
    return event_inside(instance, node, event, WAIT);
}

EXPORT int cuGraphEventWaitNodeGetEvent(struct node *node, uint64_t *event)
{
    return cuGraphEventRecordNodeGetEvent(node, event);
}

EXPORT int cuGraphEventWaitNodeSetEvent(struct node *node, uint64_t event)
{
    return cuGraphEventRecordNodeSetEvent(node, event);
}

/* CUDA_MEM_ALLOC_NODE_PARAMS begins with the properties of a pool, 88 bytes. */
struct allocation_params {
    char properties[88];
    const void *access;
    size_t count, size;
    uint64_t address;
};

EXPORT int cuGraphAddMemAllocNode(struct node **made, struct graph *graph,
                                  struct node *const *after, size_t count,
                                  struct allocation_params *params)
{
    REFUSE(made == NULL || graph == NULL || params == NULL)
    int status = cuMemAlloc_v2(&params->address, params->size);
    if (status)
        return status;
    *made = add(graph, ALLOCATE, after, count);
    (*made)->address = params->address, (*made)->size = params->size;
    return STATUS_OK;
}

EXPORT int cuGraphMemAllocNodeGetParams(struct node *node, struct allocation_params *params)
{
    memset(params, 0, sizeof *params);
    params->address = node->address, params->size = node->size;
    return STATUS_OK;
}

EXPORT int cuGraphAddMemFreeNode(struct node **made, struct graph *graph,
                                 struct node *const *after, size_t count, uint64_t address)
{
    REFUSE(made == NULL || graph == NULL)
    *made = add(graph, FREE, after, count);
    (*made)->address = address;
    return STATUS_OK;
}

EXPORT int cuGraphMemFreeNodeGetParams(struct node *node, uint64_t *address)
{
    *address = node->address;
    return STATUS_OK;
}

/* CUDA_BATCH_MEM_OP_NODE_PARAMS */
struct operations_params {
    uint64_t context;
    unsigned count;
    struct stream_operation *list;
    unsigned flags;
};

EXPORT int cuGraphAddBatchMemOpNode(struct node **made, struct graph *graph,
                                    struct node *const *after, size_t count,
                                    const struct operations_params *params)
{
    REFUSE(made == NULL || graph == NULL || params == NULL || (params->count && !params->list))
    *made = add(graph, OPERATIONS, after, count);
    set_operations(*made, params->count, params->list);
    return STATUS_OK;
}

EXPORT int cuGraphBatchMemOpNodeGetParams(struct node *node, struct operations_params *params)
{
    *params = (struct operations_params){0, node->operations.count, node->operations.list, 0};
    return STATUS_OK;
}

EXPORT int cuGraphBatchMemOpNodeSetParams(struct node *node, const struct operations_params *params)
{
    set_operations(node, params->count, params->list);
    return STATUS_OK;
}

EXPORT int cuGraphExecBatchMemOpNodeSetParams(struct graph *instance, struct node *node,
                                              const struct operations_params *params)
{
    struct node *found;
    int status = set_inside(instance, node, OPERATIONS, &found);
    if (!status)
        set_operations(found, params->count, params->list);
    return status;
}

EXPORT int cuGraphConditionalHandleCreate(uint64_t *handle, struct graph *graph, uint64_t context,
                                          unsigned value, unsigned flags)
{
    REFUSE(handle == NULL || graph == NULL || flags > 1)
    uint32_t begins = flags ? value : 0;
    int status = cuMemAlloc_v2(handle, sizeof begins);
    if (!status)
        status = host_copy_in(*handle, &begins, sizeof begins);
    if (status)
        return status;
    struct condition *made = calloc(1, sizeof *made);
    *made = (struct condition){*handle, begins, flags, 0};
    hold(graph, made);
    return STATUS_OK;
}

/* CUDA_CONDITIONAL_NODE_PARAMS */
struct condition_params {
    uint64_t handle;
    int kind;
    unsigned count;
    struct graph **bodies; /* given back: the graphs to fill */
    uint64_t context;
};

static int add_condition(struct node **made, struct graph *graph, struct node *const *after,
                         size_t count, struct condition_params *params)
{
    unsigned most = params->kind == IF ? 2 : params->kind == WHILE ? 1 : 1u << 16;
    REFUSE(made == NULL || params->kind < IF || params->kind > SWITCH || !params->count ||
           params->count > most)
    *made = add(graph, CONDITION, after, count);
    (*made)->condition.handle = params->handle;
    (*made)->condition.kind = params->kind;
    (*made)->condition.count = params->count;
    (*made)->condition.bodies = calloc(params->count, sizeof *params->bodies);
    for (unsigned n = 0; n < params->count; n++)
        (*made)->condition.bodies[n] = calloc(1, sizeof(struct graph));
    params->bodies = (*made)->condition.bodies;
    return STATUS_OK;
}

/* ---- instances --------------------------------------------------------------------------- */

static int sort_all(struct graph *graph)
{
    for (struct node *at = graph->nodes; at != NULL; at = at->next) {
        if (at->child != NULL && !sort_all(at->child))
            return 0;
        for (unsigned n = 0; n < at->condition.count; n++)
            if (!sort_all(at->condition.bodies[n]))
                return 0;
    }
    return sort(graph);
}

EXPORT int cuGraphInstantiateWithFlags(struct graph **instance, struct graph *graph,
                                       unsigned long long flags)
{
    REFUSE(instance == NULL || graph == NULL)
    struct graph *made = cloned(graph);
    if (!sort_all(made)) {
        drop_graph(made);
        return STATUS_INVALID_VALUE;
    }
    made->executable = 1;
    *instance = made;
    return STATUS_OK;
}

EXPORT int cuGraphInstantiate_v2(struct graph **instance, struct graph *graph, struct node **wrong,
                                 char *log, size_t size)
{
    if (wrong != NULL)
        *wrong = NULL;
    if (log != NULL && size)
        *log = 0;
    return cuGraphInstantiateWithFlags(instance, graph, 0);
}

EXPORT int cuGraphInstantiate(struct graph **instance, struct graph *graph, struct node **wrong,
                              char *log, size_t size)
{
    return cuGraphInstantiate_v2(instance, graph, wrong, log, size);
}

struct instantiate_params {
    unsigned long long flags;
    uint64_t stream;
    struct node *wrong;
    int result;
};

EXPORT int cuGraphInstantiateWithParams(struct graph **instance, struct graph *graph,
                                        struct instantiate_params *params)
{
    int status = cuGraphInstantiateWithFlags(instance, graph, params->flags);
    params->wrong = NULL;
    params->result = status != STATUS_OK;
    return status;
}

EXPORT int cuGraphExecDestroy(struct graph *instance)
{
    return cuGraphDestroy(instance);
}

EXPORT int cuGraphExecGetFlags(struct graph *instance, uint64_t *flags)
{
    *flags = 0;
    return STATUS_OK;
}

EXPORT int cuGraphUpload(struct graph *instance, uint64_t stream)
{
    return instance == NULL ? STATUS_INVALID_VALUE : STATUS_OK;
}

EXPORT int cuGraphLaunch(struct graph *instance, uint64_t stream)
{
    REFUSE(instance == NULL || !instance->executable)
    struct capture *found = captures == NULL ? NULL : capturing(stream);
    if (found != NULL) {
        struct node *made = captured(found, CHILD);
        made->child = cloned(instance);
        return STATUS_OK;
    }
    int status = begin_conditions(instance);
    return status ? status : run(instance, stream);
}

struct update {
    int result;
    struct node *wrong, *from;
};

EXPORT int cuGraphExecUpdate_v2(struct graph *instance, struct graph *graph, struct update *update)
{
    REFUSE(instance == NULL || graph == NULL || update == NULL)
    struct graph *other = cloned(graph);
    *update = (struct update){0};
    if (!sort_all(other)) {
        drop_graph(other);
        update->result = 1;
        return NOT_UPDATED;
    }
    struct node *to = instance->nodes, *from = other->nodes;
    for (; to != NULL && from != NULL; to = to->next, from = from->next)
        if (to->kind != from->kind || to->count != from->count)
            break;
    if (to != NULL || from != NULL) {
        update->result = to != NULL && from != NULL && to->kind != from->kind ? 3 : 2;
        update->wrong = from == NULL ? NULL : from->origin;
        drop_graph(other);
        return NOT_UPDATED;
    }
    for (to = instance->nodes, from = other->nodes; to != NULL; to = to->next, from = from->next) {
        take_over(to, from);
        to->origin = from->origin;
    }
    drop_graph(other);
    return sort_all(instance) ? STATUS_OK : NOT_UPDATED;
}

EXPORT int cuGraphExecUpdate(struct graph *instance, struct graph *graph, struct node **wrong,
                             int *result)
{
    struct update update;
    int status = cuGraphExecUpdate_v2(instance, graph, &update);
    if (wrong != NULL)
        *wrong = update.wrong;
    if (result != NULL)
        *result = update.result;
    return status;
}

EXPORT int cuGraphNodeSetEnabled(struct graph *instance, struct node *node, unsigned enabled)
{
    struct node *found = inside(instance, node);
    if (found == NULL)
        return STATUS_INVALID_VALUE;
    found->disabled = !enabled;
    return STATUS_OK;
}

EXPORT int cuGraphNodeGetEnabled(struct graph *instance, struct node *node, unsigned *enabled)
{
    struct node *found = inside(instance, node);
    if (found == NULL)
        return STATUS_INVALID_VALUE;
    *enabled = !found->disabled;
    return STATUS_OK;
}

/* ---- nodes by one structure for all kinds ------------------------------------------------ */

struct any_params {
    int kind, reserved[3];
    union {
        struct kernel_params kernel;
        struct {
            int flags, reserved;
            uint64_t context;
            struct box box;
        } copy;
        struct fill fill;
        struct host_params host;
        struct graph *child;
        uint64_t event;
        struct allocation_params allocation;
        uint64_t address;
        struct operations_params operations;
        struct condition_params condition;
    } of;
};

EXPORT int cuGraphAddNode(struct node **made, struct graph *graph, struct node *const *after,
                          size_t count, struct any_params *params)
{
    REFUSE(made == NULL || graph == NULL || params == NULL)
    switch (params->kind) {
    case KERNEL:
        return add_kernel(made, graph, after, count, &params->of.kernel, 0);
    case COPY:
        return cuGraphAddMemcpyNode(made, graph, after, count, &params->of.copy.box, 0);
    case FILL:
        return cuGraphAddMemsetNode(made, graph, after, count, &params->of.fill, 0);
    case HOST:
        return cuGraphAddHostNode(made, graph, after, count, &params->of.host);
    case CHILD:
        return cuGraphAddChildGraphNode(made, graph, after, count, params->of.child);
    case EMPTY:
        return cuGraphAddEmptyNode(made, graph, after, count);
    case WAIT:
    case RECORD:
        return add_event(made, graph, after, count, params->of.event, params->kind);
    case ALLOCATE:
        return cuGraphAddMemAllocNode(made, graph, after, count, &params->of.allocation);
    case FREE:
        return cuGraphAddMemFreeNode(made, graph, after, count, params->of.address);
    case OPERATIONS:
        return cuGraphAddBatchMemOpNode(made, graph, after, count, &params->of.operations);
    case CONDITION:
        return add_condition(made, graph, after, count, &params->of.condition);
    default:
        host_missing("cuGraphAddNode for semaphores of other APIs",
                     "CUDA_ERROR_NOT_SUPPORTED");
        return STATUS_NOT_SUPPORTED;
    }
}

EXPORT int cuGraphAddNode_v2(struct node **made, struct graph *graph, struct node *const *after,
                             const void *edges, size_t count, struct any_params *params)
{
    return cuGraphAddNode(made, graph, after, count, params);
}

/* The same for a node that is there, in a graph or (`instance`) in what was made of one. */
static int set_params(struct graph *instance, struct node *node, struct any_params *params)
{
    REFUSE(node == NULL || params == NULL || (int)node->kind != params->kind)
    struct node *found = instance == NULL ? node : inside(instance, node);
    REFUSE(found == NULL || found->kind != node->kind)
    switch (params->kind) {
    case KERNEL:
        return take_kernel(found, &params->of.kernel, 0);
    case COPY:
        found->box = params->of.copy.box;
        return STATUS_OK;
    case FILL:
        found->fill = params->of.fill;
        return STATUS_OK;
    case HOST:
        memcpy(&found->host, &params->of.host, sizeof params->of.host);
        return STATUS_OK;
    case WAIT:
    case RECORD:
        found->event = params->of.event;
        return STATUS_OK;
    case OPERATIONS:
        set_operations(found, params->of.operations.count, params->of.operations.list);
        return STATUS_OK;
    case CHILD:
        if (instance != NULL)
            return cuGraphExecChildGraphNodeSetParams(instance, node, params->of.child);
        /* fall through */
    default:
        return STATUS_NOT_SUPPORTED;
    }
}

EXPORT int cuGraphNodeSetParams(struct node *node, struct any_params *params)
{
    return set_params(NULL, node, params);
}

EXPORT int cuGraphExecNodeSetParams(struct graph *instance, struct node *node,
                                    struct any_params *params)
{
    REFUSE(instance == NULL)
    return set_params(instance, node, params);
}

EXPORT int cuUserObjectCreate(void **object, void *pointer, void (*destroy)(void *),
                              unsigned count, unsigned flags)
{
    /* What graphs keep alive stays for the program's life. */
    *object = calloc(1, 8);
    return STATUS_OK;
}

EXPORT int cuUserObjectRetain(void *object, unsigned count)
{
    return STATUS_OK;
}

EXPORT int cuUserObjectRelease(void *object, unsigned count)
{
    return STATUS_OK;
}

EXPORT int cuGraphRetainUserObject(struct graph *graph, void *object, unsigned count,
                                   unsigned flags)
{
    return STATUS_OK;
}

EXPORT int cuGraphReleaseUserObject(struct graph *graph, void *object, unsigned count)
{
    return STATUS_OK;
}
