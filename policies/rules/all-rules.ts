import type { Rule } from "../rule.ts";
import { chainData } from "./chain-data.ts";
import {
  confined,
  engineSocket,
  noHostAccess,
  nodeGrace,
  nonRoot,
  probes,
  readOnlyRoot,
  resourceLimits,
} from "./containers.ts";
import { defaultDeny } from "./default-deny.ts";
import { imagePinned } from "./image-pinned.ts";
import { noPlainSecrets } from "./no-plain-secrets.ts";
import { nodeConfiguration } from "./node-configuration.ts";
import { privatePorts } from "./private-ports.ts";
import { publicTls } from "./public-tls.ts";

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
