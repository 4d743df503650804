import { AnvilRequestError } from "../../anvil/anvil-request.ts";

/** The instruction at which the EVM halted a call. */
export type HaltLocation = Readonly<{ opcode: number; stackItems: number }>;

/** Max stack size before a push. */
const stackLimit = 1_024;

/** Text of a halt, or a function that adds the instruction to it. */
type Halt = string | ((place: HaltLocation | undefined) => string);

const outOfGas = "out of gas";
const writeProtection = "write protection";

const invalidOpcode = (place: HaltLocation | undefined) =>
  place === undefined ? "invalid opcode" : `invalid opcode: opcode 0x${place.opcode.toString(16)} not defined`;

const stackUnderflow = (place: HaltLocation | undefined) =>
  place === undefined
    ? "stack underflow"
    : `stack underflow (${place.stackItems} <=> ${countStackItemsNeeded(place.opcode)})`;

const stackOverflow = `stack limit reached ${stackLimit} (${stackLimit - 1})`;

/** Ranges of adjacent opcodes that pop the same number of stack items: first, last, items. */
const runs: readonly (readonly [first: number, last: number, items: number])[] = [
  [0x00, 0x00, 0],
  [0x01, 0x07, 2],
  [0x08, 0x09, 3],
  [0x0a, 0x0b, 2],
  [0x10, 0x14, 2],
  [0x15, 0x15, 1],
  [0x16, 0x18, 2],
  [0x19, 0x19, 1],
  [0x1a, 0x1d, 2],
  [0x20, 0x20, 2],
  [0x30, 0x30, 0],
  [0x31, 0x31, 1],
  [0x32, 0x34, 0],
  [0x35, 0x35, 1],
  [0x36, 0x36, 0],
  [0x37, 0x37, 3],
  [0x38, 0x38, 0],
  [0x39, 0x39, 3],
  [0x3a, 0x3a, 0],
  [0x3b, 0x3b, 1],
  [0x3c, 0x3c, 4],
  [0x3d, 0x3d, 0],
  [0x3e, 0x3e, 3],
  [0x3f, 0x40, 1],
  [0x41, 0x48, 0],
  [0x49, 0x49, 1],
  [0x4a, 0x4a, 0],
  [0x50, 0x51, 1],
  [0x52, 0x53, 2],
  [0x54, 0x54, 1],
  [0x55, 0x55, 2],
  [0x56, 0x56, 1],
  [0x57, 0x57, 2],
  [0x58, 0x5b, 0],
  [0x5c, 0x5c, 1],
  [0x5d, 0x5d, 2],
  [0x5e, 0x5e, 3],
  [0x5f, 0x7f, 0],
  [0xf0, 0xf0, 3],
  [0xf1, 0xf2, 7],
  [0xf3, 0xf3, 2],
  [0xf4, 0xf4, 6],
  [0xf5, 0xf5, 4],
  [0xfa, 0xfa, 6],
  [0xfd, 0xfd, 2],
  [0xff, 0xff, 1],
];

/** DUP1 to DUP16 read as deep as their number, LOG0 to LOG4 pop their topics and two more items, SWAPn reads one deeper than n. */
const countedFrom = { dup: 0x80, swap: 0x90, log: 0xa0, afterLog: 0xa5 } as const;

/**
 * Geth's texts for EVM halts (`core/vm/errors.go`), keyed by revm's names: anvil returns these names for a call, and its `callTracer`
 * returns some of them for a frame.
 */
const halts: Readonly<Record<string, Halt>> = {
  OutOfGas: outOfGas,
  MemoryOOG: outOfGas,
  MemoryLimitOOG: outOfGas,
  PrecompileOOG: outOfGas,
  ReentrancySentryOOG: outOfGas,
  InvalidOperandOOG: "gas uint64 overflow",
  OpcodeNotFound: invalidOpcode,
  NotActivated: invalidOpcode,
  InvalidFEOpcode: "invalid opcode: INVALID",
  InvalidJump: "invalid jump destination",
  StackUnderflow: stackUnderflow,
  StackOverflow: stackOverflow,
  OutOfOffset: "return data out of bounds",
  CallNotAllowedInsideStatic: writeProtection,
  StateChangeDuringStaticCall: writeProtection,
  CallTooDeep: "max call depth exceeded",
  OutOfFunds: "insufficient balance for transfer",
  CreateCollision: "contract address collision",
  CreateContractSizeLimit: "max code size exceeded",
  CreateContractStartingWithEF: "invalid code: must not begin with 0xef",
  CreateInitCodeSizeLimit: "max initcode size exceeded",
  NonceOverflow: "nonce uint64 overflow",
  PrecompileError: "precompile failed",
};

/** Additional error texts used by anvil's tracers, some in geth's style and some in OpenEthereum's, in lower case. */
const tracerTexts: Readonly<Record<string, Halt>> = {
  "invalid opcode": invalidOpcode,
  "bad instruction": invalidOpcode,
  "out of stack": stackOverflow,
  "bad jump destination": "invalid jump destination",
  "out of gas: invalid operand": "gas uint64 overflow",
  "precompiled failed": "precompile failed",
  "built-in failed": "precompile failed",
  reverted: "execution reverted",
};

const byText = new Map(
  [...Object.entries(halts), ...Object.entries(tracerTexts)].map(([name, halt]) => [name.toLowerCase(), halt]),
);

/** Reads the halt of a failed call, by revm's name; returns undefined for any other error. */
export function readHalt(error: unknown): string | undefined {
  if (!(error instanceof AnvilRequestError)) return undefined;
  return /^EVM error (\w+)/.exec(error.message)?.[1];
}

/** Checks whether geth's text for a halt contains the instruction, which the halt alone does not report. */
export function needsSlot(halt: string): boolean {
  return typeof byText.get(halt.toLowerCase()) === "function";
}

/** Converts the halt of a call or of a trace frame to geth's text. Passes an unknown text through. */
export function toGethHalt(halt: string, place?: HaltLocation): string {
  const text = byText.get(halt.toLowerCase());
  if (text !== undefined) return typeof text === "string" ? text : text(place);
  return halt.toLowerCase().startsWith(outOfGas) ? outOfGas : halt;
}

/**
 * Counts the items that an opcode needs on the stack (Yellow Paper, appendix H.2, and the EIPs up to Cancun).
 *
 * @throws {RangeError} for a byte that is not an opcode.
 */
export function countStackItemsNeeded(opcode: number): number {
  const { dup, swap, log, afterLog } = countedFrom;
  if (opcode >= dup && opcode < swap) return opcode - dup + 1;
  if (opcode >= swap && opcode < log) return opcode - swap + 2;
  if (opcode >= log && opcode < afterLog) return opcode - log + 2;
  const run = runs.find(([first, last]) => opcode >= first && opcode <= last);
  if (run === undefined) throw new RangeError(`0x${opcode.toString(16)} is not an opcode`);
  return run[2];
}
