/** A resource of a deployment, as a rule sees it. */
export type PolicyResource = Readonly<{
  /** Pulumi type token, e.g. `docker:index/container:Container`. */
  type: string;
  name: string;
  props: Readonly<Record<string, unknown>>;
  /** Whether Pulumi refuses to delete it. */
  protect: boolean;
}>;

/** How bad it is when a rule is broken, in Pulumi's own words. Every rule is mandatory all the same. */
export type Severity = "critical" | "high" | "medium";

/** What the pack's configuration can set of a rule. */
export type RuleOptions = Readonly<{
  /** Registries that images may come from, e.g. `registry.example`; empty allows all. */
  allowedRegistries: readonly string[];
}>;

type Stated = Readonly<{
  /** Kebab-case; names the rule in exceptions and in Pulumi's output. */
  name: string;
  severity: Severity;
  why: string;
  /** What to change. */
  remedy: string;
}>;

/** A rule about single resources: what is wrong with one, a line each. */
export type ResourceRule = Stated &
  Readonly<{ scope: "resource"; check: (resource: PolicyResource, options: RuleOptions) => readonly string[] }>;

/** What is wrong with a deployment as a whole, and which resource it is about. */
export type StackFinding = Readonly<{ resource: string; message: string }>;

/** A rule about a deployment as a whole. */
export type StackRule = Stated &
  Readonly<{ scope: "stack"; check: (resources: readonly PolicyResource[]) => readonly StackFinding[] }>;

/** A rule of the pack. */
export type Rule = ResourceRule | StackRule;
