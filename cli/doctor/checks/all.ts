import type { Check } from "../check.ts";
import { conditionsCheck } from "./conditions-check.ts";
import { keysCheck } from "./keys-check.ts";
import { portsCheck } from "./ports-check.ts";
import { serviceCheck } from "./service-check.ts";
import { settingsCheck } from "./settings-check.ts";
import { signerCheck } from "./signer-check.ts";
import { versionsCheck } from "./versions-check.ts";

/** All checks of `gatehouse doctor`, by name; causes precede their consequences. */
export const checks: Readonly<Record<string, Check>> = {
  settings: settingsCheck,
  keys: keysCheck,
  ports: portsCheck,
  service: serviceCheck,
  versions: versionsCheck,
  conditions: conditionsCheck,
  signer: signerCheck,
};
