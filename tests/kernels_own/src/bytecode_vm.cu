// A stack machine: a switch over opcodes with a stack in local memory, a program per lane.
enum : unsigned char { PUSH, ADD, SUB, MUL, DUP, SWAP, JZ, JMP, LT, OVER, DROP, SHR, CALL, RETN, HALT };

extern "C" __global__ void bytecode_vm(const unsigned char *code, const int *entry, int *out,
                                       int *cycles)
{
    int t = threadIdx.x, pc = entry[t], n = 0, sp = 0, rp = 0;
    int s[16];
    unsigned char calls[8];
    s[sp++] = t;
    for (bool run = true; run; ++n) {
        switch (code[pc++]) {
        case PUSH: s[sp++] = (signed char)code[pc++]; break;
        case ADD: --sp; s[sp - 1] += s[sp]; break;
        case SUB: --sp; s[sp - 1] -= s[sp]; break;
        case MUL: --sp; s[sp - 1] *= s[sp]; break;
        case DUP: s[sp] = s[sp - 1]; ++sp; break;
        case SWAP: { int x = s[sp - 1]; s[sp - 1] = s[sp - 2]; s[sp - 2] = x; break; }
        case JZ: pc = s[--sp] ? pc + 1 : code[pc]; break;
        case JMP: pc = code[pc]; break;
        case LT: --sp; s[sp - 1] = s[sp - 1] < s[sp]; break;
        case OVER: s[sp] = s[sp - 2]; ++sp; break;
        case DROP: --sp; break;
        case SHR: --sp; s[sp - 1] >>= s[sp]; break;
        case CALL: calls[rp++] = pc + 1; pc = code[pc]; break;
        case RETN: pc = calls[--rp]; break;
        case HALT: run = false; break;
        default: s[sp - 1] = -1; run = false;
        }
    }
    out[t] = s[sp - 1];
    cycles[t] = n;
}
