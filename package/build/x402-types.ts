/** Types from bundled packages that appear in the declarations of the package's exports; the build writes them to one file. */
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
