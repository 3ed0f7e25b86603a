"""CUDA's error codes: one list for both APIs, which share their numbers since CUDA 10.1.

Facts: `cuda.h` and `driver_types.h` of CUDA 12.
"""

from __future__ import annotations

from gpudbg.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CudaErrorCode:
    """One error.

    Attributes:
        number: in both APIs.
        driver, runtime: its names.
        words: what it means, as `cudaGetErrorString` says it.
    """

    number: int
    driver: str
    runtime: str
    words: str


class CudaError(Exception):
    """A call of a host program fails: it gets a code.

    Attributes:
        code: the number.
        said: what is to be said of it beside the code, or "".
    """

    def __init__(self, code: int, said: str = "") -> None:
        super().__init__(said or words(code))
        self.code = code
        self.said = said


_ROWS = """
0 CUDA_SUCCESS cudaSuccess no error
1 CUDA_ERROR_INVALID_VALUE cudaErrorInvalidValue invalid argument
2 CUDA_ERROR_OUT_OF_MEMORY cudaErrorMemoryAllocation out of memory
3 CUDA_ERROR_NOT_INITIALIZED cudaErrorInitializationError initialization error
4 CUDA_ERROR_DEINITIALIZED cudaErrorCudartUnloading driver shutting down
9 - cudaErrorInvalidConfiguration invalid configuration argument
13 - cudaErrorInvalidSymbol invalid device symbol
18 - cudaErrorInvalidTexture invalid texture reference
21 - cudaErrorInvalidMemcpyDirection invalid copy direction for memcpy
35 - cudaErrorInsufficientDriver CUDA driver version is insufficient for CUDA runtime version
36 - cudaErrorCallRequiresNewerDriver API call is not supported in the installed CUDA driver
52 - cudaErrorMissingConfiguration __global__ function call is not configured
98 - cudaErrorInvalidDeviceFunction invalid device function
100 CUDA_ERROR_NO_DEVICE cudaErrorNoDevice no CUDA-capable device is detected
101 CUDA_ERROR_INVALID_DEVICE cudaErrorInvalidDevice invalid device ordinal
200 CUDA_ERROR_INVALID_IMAGE cudaErrorInvalidKernelImage device kernel image is invalid
201 CUDA_ERROR_INVALID_CONTEXT cudaErrorDeviceUninitialized invalid device context
209 CUDA_ERROR_NO_BINARY_FOR_GPU cudaErrorNoKernelImageForDevice no kernel image is available for execution on the device
217 CUDA_ERROR_PEER_ACCESS_UNSUPPORTED cudaErrorPeerAccessUnsupported peer access is not supported between these two devices
218 CUDA_ERROR_INVALID_PTX cudaErrorInvalidPtx a PTX JIT compilation failed
221 CUDA_ERROR_JIT_COMPILER_NOT_FOUND cudaErrorJitCompilerNotFound PTX JIT compiler library not found
222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION cudaErrorUnsupportedPtxVersion the provided PTX was compiled with an unsupported toolchain.
300 CUDA_ERROR_INVALID_SOURCE cudaErrorInvalidSource device kernel image is invalid
301 CUDA_ERROR_FILE_NOT_FOUND cudaErrorFileNotFound file not found
304 CUDA_ERROR_OPERATING_SYSTEM cudaErrorOperatingSystem OS call failed or operation not supported on this OS
400 CUDA_ERROR_INVALID_HANDLE cudaErrorInvalidResourceHandle invalid resource handle
401 CUDA_ERROR_ILLEGAL_STATE cudaErrorIllegalState the operation cannot be performed in the present state
500 CUDA_ERROR_NOT_FOUND cudaErrorSymbolNotFound named symbol not found
600 CUDA_ERROR_NOT_READY cudaErrorNotReady device not ready
700 CUDA_ERROR_ILLEGAL_ADDRESS cudaErrorIllegalAddress an illegal memory access was encountered
701 CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES cudaErrorLaunchOutOfResources too many resources requested for launch
702 CUDA_ERROR_LAUNCH_TIMEOUT cudaErrorLaunchTimeout the launch timed out and was terminated
704 CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED cudaErrorPeerAccessAlreadyEnabled peer access is already enabled
705 CUDA_ERROR_PEER_ACCESS_NOT_ENABLED cudaErrorPeerAccessNotEnabled peer access has not been enabled
708 CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE cudaErrorSetOnActiveProcess cannot set while device is active in this process
709 CUDA_ERROR_CONTEXT_IS_DESTROYED cudaErrorContextIsDestroyed context is destroyed
710 CUDA_ERROR_ASSERT cudaErrorAssert device-side assert triggered
712 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED cudaErrorHostMemoryAlreadyRegistered part or all of the requested memory range is already mapped
713 CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED cudaErrorHostMemoryNotRegistered pointer does not correspond to a registered memory region
714 CUDA_ERROR_HARDWARE_STACK_ERROR cudaErrorHardwareStackError hardware stack error
715 CUDA_ERROR_ILLEGAL_INSTRUCTION cudaErrorIllegalInstruction an illegal instruction was encountered
716 CUDA_ERROR_MISALIGNED_ADDRESS cudaErrorMisalignedAddress misaligned address
717 CUDA_ERROR_INVALID_ADDRESS_SPACE cudaErrorInvalidAddressSpace operation not supported on global/shared address space
718 CUDA_ERROR_INVALID_PC cudaErrorInvalidPc invalid program counter
719 CUDA_ERROR_LAUNCH_FAILED cudaErrorLaunchFailure unspecified launch failure
720 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE cudaErrorCooperativeLaunchTooLarge too many blocks in cooperative launch
800 CUDA_ERROR_NOT_PERMITTED cudaErrorNotPermitted operation not permitted
801 CUDA_ERROR_NOT_SUPPORTED cudaErrorNotSupported operation not supported
900 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED cudaErrorStreamCaptureUnsupported operation not permitted when stream is capturing
901 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED cudaErrorStreamCaptureInvalidated operation failed due to a previous error during capture
902 CUDA_ERROR_STREAM_CAPTURE_MERGE cudaErrorStreamCaptureMerge operation would result in a merge of separate capture sequences
903 CUDA_ERROR_STREAM_CAPTURE_UNMATCHED cudaErrorStreamCaptureUnmatched capture was not ended in the same stream as it began
904 CUDA_ERROR_STREAM_CAPTURE_UNJOINED cudaErrorStreamCaptureUnjoined capturing stream has unjoined work
905 CUDA_ERROR_STREAM_CAPTURE_ISOLATION cudaErrorStreamCaptureIsolation dependency created on uncaptured work in another stream
906 CUDA_ERROR_STREAM_CAPTURE_IMPLICIT cudaErrorStreamCaptureImplicit operation would make the legacy stream depend on a capturing blocking stream
907 CUDA_ERROR_CAPTURED_EVENT cudaErrorCapturedEvent operation not permitted on an event last recorded in a capturing stream
908 CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD cudaErrorStreamCaptureWrongThread attempt to terminate a thread-local capture sequence from another thread
910 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE cudaErrorGraphExecUpdateFailure the graph update was not performed because it included changes which violated constraints specific to instantiated graph update
912 CUDA_ERROR_INVALID_CLUSTER_SIZE cudaErrorInvalidClusterSize cluster misconfiguration
999 CUDA_ERROR_UNKNOWN cudaErrorUnknown unknown error
"""  # noqa: E501


def _read() -> dict[int, CudaErrorCode]:
    made = {}
    for line in _ROWS.strip().splitlines():
        number, driver, runtime, said = line.split(None, 3)
        made[int(number)] = CudaErrorCode(
            int(number), "" if driver == "-" else driver, runtime, said
        )
    return made


ERRORS = _read()
INVALID_VALUE, OUT_OF_MEMORY, INVALID_DEVICE, INVALID_IMAGE = 1, 2, 101, 200
NO_COMPILER, NO_BINARY, INVALID_PTX, INVALID_HANDLE, NOT_FOUND, NOT_READY = (
    221,
    209,
    218,
    400,
    500,
    600,
)
NO_CODE = frozenset((NO_BINARY, NO_COMPILER))
"""Errors of code that is well and that this device cannot have: nothing of it is run."""
ALREADY_REGISTERED, INVALID_CLUSTER_SIZE = 712, 912
OUT_OF_RESOURCES, NOT_REGISTERED, COOPERATIVE_TOO_LARGE, NOT_SUPPORTED = 701, 713, 720, 801
INVALID_CONFIGURATION, INVALID_CONTEXT, PEER_UNSUPPORTED, UNKNOWN = 9, 201, 217, 999


def words(code: int) -> str:
    """What a code means."""
    return ERRORS[code].words if code in ERRORS else f"error {code}"
