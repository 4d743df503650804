export type PolicyResource = Readonly<{
  /** Pulumi type token, e.g. `docker:index/container:Container`. */
  type: string;
  name: string;
  props: Readonly<Record<string, unknown>>;
  /** Whether Pulumi rejects the resource's deletion. */
  protect: boolean;
}>;

/** Severity of a broken rule, in Pulumi's terms. Every rule is mandatory, whatever its severity. */
export type Severity = "critical" | "high" | "medium";

export type RuleOptions = Readonly<{
  /** Registries from which images may come, e.g. `registry.example`; empty allows all. */
  allowedRegistries: readonly string[];
}>;

type RuleDescription = Readonly<{
  /** Kebab-case; identifies the rule in exceptions and in Pulumi's output. */
  name: string;
  severity: Severity;
  why: string;
  /** Change that satisfies the rule, as an instruction. */
  remedy: string;
}>;

/** Rule about single resources; `check` returns one line per violation. */
export type ResourceRule = RuleDescription &
  Readonly<{ scope: "resource"; check: (resource: PolicyResource, options: RuleOptions) => readonly string[] }>;

/** A finding about a deployment as a whole, with the name of the resource it concerns. */
export type StackFinding = Readonly<{ resource: string; message: string }>;

export type StackRule = RuleDescription &
  Readonly<{ scope: "stack"; check: (resources: readonly PolicyResource[]) => readonly StackFinding[] }>;

export type Rule = ResourceRule | StackRule;
