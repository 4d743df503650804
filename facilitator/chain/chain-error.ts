/** Why a question to the chain has no usable answer. */
export type ChainFault = "unreachable" | "timeout" | "bad_answer" | "refused";

/**
 * The node could not be asked, or its answer can't be used. It says nothing about any payment; asking again later makes sense.
 */
export class ChainError extends Error {
  override readonly name = "ChainError";
  readonly code = "chain_unavailable";
  readonly fault: ChainFault;

  constructor(fault: ChainFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
