/** What the declarations of the package's exports name of bundled packages; the build makes one file of it. */
export type {
  AssetAmount,
  Network,
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  SchemeNetworkClient,
  SchemeNetworkServer,
  SettleResponse,
  VerifyResponse,
} from "@x402/core/types";
