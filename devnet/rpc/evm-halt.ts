import { AnvilRequestError } from "../anvil/anvil-request.ts";
import { stackItemsNeeded } from "./opcode.ts";

/** The instruction at which the EVM stopped a call. */
export type HaltPlace = Readonly<{ opcode: number; stackItems: number }>;

/** Items that the stack may hold before one more is pushed. */
const stackLimit = 1_024;

/** A halt by a text that does not tell the instruction. */
type Halt = string | ((place: HaltPlace | undefined) => string);

const outOfGas = "out of gas";
const writeProtection = "write protection";

const invalidOpcode = (place: HaltPlace | undefined) =>
  place === undefined ? "invalid opcode" : `invalid opcode: opcode 0x${place.opcode.toString(16)} not defined`;

const stackUnderflow = (place: HaltPlace | undefined) =>
  place === undefined
    ? "stack underflow"
    : `stack underflow (${place.stackItems} <=> ${stackItemsNeeded(place.opcode)})`;

const stackOverflow = `stack limit reached ${stackLimit} (${stackLimit - 1})`;

/**
 * Why the EVM stops: revm's names, as anvil gives them for a call and its `callTracer` gives some of them for a frame, and what
 * geth says (`core/vm/errors.go`).
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

/** Further texts of anvil's tracers, of geth's style and of OpenEthereum's, in small letters. */
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

/** The halt that a call of the chain failed with, by revm's name; undefined for any other error. */
export function haltOf(error: unknown): string | undefined {
  if (!(error instanceof AnvilRequestError)) return undefined;
  return /^EVM error (\w+)/.exec(error.message)?.[1];
}

/** Whether geth's text for a halt names the instruction, which the halt alone does not tell. */
export function needsPlace(halt: string): boolean {
  return typeof byText.get(halt.toLowerCase()) === "function";
}

/** What geth says of a halt: of a call, or of a frame of a trace. A text that is not known is passed on. */
export function gethHalt(halt: string, place?: HaltPlace): string {
  const text = byText.get(halt.toLowerCase());
  if (text !== undefined) return typeof text === "string" ? text : text(place);
  return halt.toLowerCase().startsWith(outOfGas) ? outOfGas : halt;
}
