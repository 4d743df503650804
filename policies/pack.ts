import { PolicyPack } from "@pulumi/policy";
import { createPolicy } from "./policy.ts";
import { allRules } from "./rules/all-rules.ts";

new PolicyPack("gatehouse", {
  description: "What a deployment of Gatehouse may not do",
  policies: allRules.map((rule) => createPolicy(rule, () => new Date())),
});
