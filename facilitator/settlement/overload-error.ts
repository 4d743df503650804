/** More settlements are under way than may be. Nothing was done about this one; calling again in a moment makes sense. */
export class OverloadError extends Error {
  override readonly name = "OverloadError";
  readonly code = "overloaded";

  constructor(inFlightMax: number) {
    super(`${inFlightMax} settlements are under way, which is the most; try again in a moment`);
  }
}
