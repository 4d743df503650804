import type { RuleGroup } from "../alert.ts";
import { gatewayRules } from "./gateway.ts";
import { nodeRules } from "./node.ts";
import { paymentRules } from "./payments.ts";
import { serviceRules } from "./services.ts";
import { upkeepRules } from "./upkeep.ts";

/** All rules of Gatehouse, in the order in which they are written. */
export const ruleGroups: readonly RuleGroup[] = [nodeRules, upkeepRules, serviceRules, gatewayRules, paymentRules];
