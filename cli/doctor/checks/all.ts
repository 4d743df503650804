import type { Check } from "../check.ts";
import { certificateCheck } from "./certificate-check.ts";
import { clockCheck } from "./clock-check.ts";
import { conditionsCheck } from "./conditions-check.ts";
import { facilitatorCheck } from "./facilitator-check.ts";
import { keysCheck } from "./keys-check.ts";
import { nodeCheck } from "./node-check.ts";
import { portsCheck } from "./ports-check.ts";
import { prometheusCheck } from "./prometheus-check.ts";
import { pushgatewayCheck } from "./pushgateway-check.ts";
import { serviceCheck } from "./service-check.ts";
import { settingsCheck } from "./settings-check.ts";
import { signerCheck } from "./signer-check.ts";
import { versionsCheck } from "./versions-check.ts";

/** Every check of `gatehouse doctor`, by its name; causes come before their consequences. */
export const checks: Readonly<Record<string, Check>> = {
  settings: settingsCheck,
  keys: keysCheck,
  ports: portsCheck,
  service: serviceCheck,
  versions: versionsCheck,
  clock: clockCheck,
  node: nodeCheck,
  conditions: conditionsCheck,
  pushgateway: pushgatewayCheck,
  prometheus: prometheusCheck,
  facilitator: facilitatorCheck,
  signer: signerCheck,
  certificate: certificateCheck,
};
