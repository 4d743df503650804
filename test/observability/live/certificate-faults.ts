import type { LiveFault } from "./live-fault.ts";
import type { WatchedStack } from "./watched-stack.ts";

/** Faults of the certificate that a proxy before the stack shows. */
export const certificateFaults: readonly LiveFault<WatchedStack>[] = [
  {
    alert: "GatehouseCertificateExpiresSoon",
    what: "the proxy at a public URL shows a certificate that ends in five days",
    besides: ["GatehouseNotRight"],
    strike: ({ certificate }) => certificate.show({ days: 5, isTrusted: true }),
  },
  {
    alert: "GatehouseCertificateInvalid",
    what: "it shows one that it has signed itself",
    besides: ["GatehouseNotRight"],
    strike: ({ certificate }) => certificate.show({ days: 60, isTrusted: false }),
  },
  {
    alert: "GatehouseCertificateNotSeen",
    what: "it is stopped",
    besides: ["GatehouseNotRight"],
    strike: ({ certificate }) => certificate.hide(),
  },
];
