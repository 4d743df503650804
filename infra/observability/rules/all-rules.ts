import type { RuleGroup } from "../alert.ts";
import { gatewayRules } from "./gateway.ts";
import { nodeRules } from "./node.ts";
import { paymentRules } from "./payments.ts";
import { serviceRules } from "./services.ts";
import { upkeepRules } from "./upkeep.ts";

/** All Gatehouse rules, in output order. */
export const ruleGroups: readonly RuleGroup[] = [nodeRules, upkeepRules, serviceRules, gatewayRules, paymentRules];
