import type { Rule } from "../rule.ts";
import { chainData } from "./chain-data.ts";
import { confined, noHostAccess } from "./no-host-access.ts";
import { defaultDeny } from "./default-deny.ts";
import { engineSocket } from "./engine-socket.ts";
import { imagePinned } from "./image-pinned.ts";
import { noPlainSecrets } from "./no-plain-secrets.ts";
import { nodeConfiguration } from "./node-configuration.ts";
import { nodeGrace } from "./node-grace.ts";
import { nonRoot } from "./non-root.ts";
import { privatePorts } from "./private-ports.ts";
import { probes } from "./probes.ts";
import { publicTls } from "./public-tls.ts";
import { readOnlyRoot } from "./read-only-root.ts";
import { resourceLimits } from "./resource-limits.ts";

/** Every rule in the pack, in the order of the documentation. */
export const allRules: readonly Rule[] = [
  imagePinned,
  noHostAccess,
  engineSocket,
  nonRoot,
  confined,
  readOnlyRoot,
  resourceLimits,
  probes,
  privatePorts,
  defaultDeny,
  chainData,
  nodeGrace,
  noPlainSecrets,
  publicTls,
  nodeConfiguration,
];
