/* NVTX for programs that are built here: ranges and marks that no profiler asks for do nothing.
   Names, types and numbers are those of NVTX 3's public headers. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
#define NVTX_COLOR_UNKNOWN 0
#define NVTX_COLOR_ARGB 1
#define NVTX_MESSAGE_UNKNOWN 0
#define NVTX_MESSAGE_TYPE_ASCII 1
#define NVTX_MESSAGE_TYPE_UNICODE 2
#define NVTX_MESSAGE_TYPE_REGISTERED 3
#define NVTX_PAYLOAD_UNKNOWN 0
#define NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 1
#define NVTX_PAYLOAD_TYPE_INT64 2
#define NVTX_PAYLOAD_TYPE_DOUBLE 3
#define NVTX_NO_PUSH_POP_TRACKING (-2)

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration *nvtxStringHandle_t;
typedef union {
    const char *ascii;
    const wchar_t *unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
    } payload;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_t;

#define NVTX_NOTHING(name, parameters) static inline void name parameters {}
#define NVTX_ANSWER(type, name, parameters, value) \
    static inline type name parameters             \
    {                                              \
        return value;                              \
    }

NVTX_ANSWER(int, nvtxRangePushA, (const char *message), 0)
NVTX_ANSWER(int, nvtxRangePushW, (const wchar_t *message), 0)
NVTX_ANSWER(int, nvtxRangePushEx, (const nvtxEventAttributes_t *about), 0)
NVTX_ANSWER(int, nvtxRangePop, (void), 0)
NVTX_ANSWER(nvtxRangeId_t, nvtxRangeStartA, (const char *message), 1)
NVTX_ANSWER(nvtxRangeId_t, nvtxRangeStartW, (const wchar_t *message), 1)
NVTX_ANSWER(nvtxRangeId_t, nvtxRangeStartEx, (const nvtxEventAttributes_t *about), 1)
NVTX_NOTHING(nvtxRangeEnd, (nvtxRangeId_t range))
NVTX_NOTHING(nvtxMarkA, (const char *message))
NVTX_NOTHING(nvtxMarkW, (const wchar_t *message))
NVTX_NOTHING(nvtxMarkEx, (const nvtxEventAttributes_t *about))
NVTX_NOTHING(nvtxNameOsThreadA, (uint32_t thread, const char *name))
NVTX_NOTHING(nvtxNameCategoryA, (uint32_t category, const char *name))
NVTX_NOTHING(nvtxInitialize, (const void *reserved))
NVTX_ANSWER(nvtxDomainHandle_t, nvtxDomainCreateA, (const char *name), NULL)
NVTX_NOTHING(nvtxDomainDestroy, (nvtxDomainHandle_t domain))
NVTX_ANSWER(nvtxStringHandle_t, nvtxDomainRegisterStringA,
            (nvtxDomainHandle_t domain, const char *name), NULL)
NVTX_ANSWER(int, nvtxDomainRangePushEx,
            (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *about), 0)
NVTX_ANSWER(int, nvtxDomainRangePop, (nvtxDomainHandle_t domain), 0)
NVTX_ANSWER(nvtxRangeId_t, nvtxDomainRangeStartEx,
            (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *about), 1)
NVTX_NOTHING(nvtxDomainRangeEnd, (nvtxDomainHandle_t domain, nvtxRangeId_t range))
NVTX_NOTHING(nvtxDomainMarkEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *about))

#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxNameCategory nvtxNameCategoryA
#define nvtxDomainCreate nvtxDomainCreateA
#define nvtxDomainRegisterString nvtxDomainRegisterStringA
#undef NVTX_NOTHING
#undef NVTX_ANSWER
