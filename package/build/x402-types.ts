/** Types of bundled packages that declarations of the package's exports name; the build makes one file of them. */
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
