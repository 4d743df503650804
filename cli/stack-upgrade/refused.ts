/** A refusal, and what to do about it; nothing was changed. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code = "refused";
}
