/** A resource of a deployment, as a rule sees it. */
export type PolicyResource = Readonly<{
  /** Pulumi type token, e.g. `docker:index/container:Container`. */
  type: string;
  name: string;
  props: Readonly<Record<string, unknown>>;
  /** Whether Pulumi refuses to delete it. */
  protect: boolean;
}>;

/** Severity of a broken rule, in Pulumi's own words. Every rule is mandatory all the same. */
export type Severity = "critical" | "high" | "medium";

/** Options of a rule in the pack's configuration. */
export type RuleOptions = Readonly<{
  /** Registries that images may come from, e.g. `registry.example`; empty allows all. */
  allowedRegistries: readonly string[];
}>;

type Stated = Readonly<{
  /** Kebab-case; names the rule in exceptions and in Pulumi's output. */
  name: string;
  severity: Severity;
  why: string;
  /** Change that satisfies the rule, as an instruction. */
  remedy: string;
}>;

/** A rule about single resources; `check` returns a line for each mistake. */
export type ResourceRule = Stated &
  Readonly<{ scope: "resource"; check: (resource: PolicyResource, options: RuleOptions) => readonly string[] }>;

/** Finding about a deployment as a whole, with the name of the resource concerned. */
export type StackFinding = Readonly<{ resource: string; message: string }>;

/** A rule about a deployment as a whole. */
export type StackRule = Stated &
  Readonly<{ scope: "stack"; check: (resources: readonly PolicyResource[]) => readonly StackFinding[] }>;

/** A rule of the pack. */
export type Rule = ResourceRule | StackRule;
