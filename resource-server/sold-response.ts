/** A response that a client buys, whole. */
export type SoldResponse = Readonly<{
  status: number;
  headers: readonly (readonly [name: string, value: string])[];
  body: Uint8Array<ArrayBuffer>;
}>;
