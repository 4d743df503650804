import { PolicyPack } from "@pulumi/policy";
import { createPolicy } from "./policy.ts";
import { allRules } from "./rules/all-rules.ts";

new PolicyPack("gatehouse", {
  description: "Rules for deployments of Gatehouse",
  policies: allRules.map((rule) => createPolicy(rule, () => new Date())),
});
