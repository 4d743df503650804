/** `gatehouse-evm/client`: a `fetch` that responds to a 402 by paying (x402 version 2), within limits. */
export {
  payingFetch,
  PaymentRejectedError,
  type ChannelOptions,
  type Fetch,
  type PayingFetchDependencies,
  type PayingFetchOptions,
  type PaymentEvent,
} from "#client/paying-fetch.ts";
export type { AllowedAsset } from "#client/payment-choice.ts";
export { tokenReader, TokenReadError, type TokenLocation, type TokenReader } from "#client/token-reader.ts";
