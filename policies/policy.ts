import type {
  Policies,
  Policy,
  ResourceValidationArgs,
  ResourceValidationPolicy,
  StackValidationArgs,
  StackValidationPolicy,
} from "@pulumi/policy";
import type { PolicyResource, Rule, RuleOptions } from "./rule.ts";

type Configured = Readonly<{ exceptions: readonly RuleException[]; options: RuleOptions }>;

const configSchema = {
  properties: {
    exceptions: {
      type: "array",
      items: {
        type: "object",
        properties: {
          resource: { type: "string" },
          reason: { type: "string", minLength: 1 },
          expires: { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}$" },
        },
        required: ["resource", "reason", "expires"],
        additionalProperties: false,
      },
      default: [],
    },
    allowedRegistries: { type: "array", items: { type: "string" }, default: [] },
  },
} as const;

/** Creates a Pulumi policy from a rule. `now` returns the date against which exceptions are checked. */
export function createPolicy(rule: Rule, now: () => Date): Policies[number] {
  const shared = {
    name: rule.name,
    description: `[${rule.severity}] ${rule.why} ${rule.remedy}`,
    severity: rule.severity,
    // Mandatory for every severity; the pack's configuration can turn a rule into a warning.
    enforcementLevel: "mandatory" as const,
    configSchema: configSchema as unknown as NonNullable<Policy["configSchema"]>,
  };
  if (rule.scope === "resource") {
    const policy: ResourceValidationPolicy = {
      ...shared,
      validateResource: (args, report) => {
        const { exceptions, options } = readConfiguration(rule, args);
        for (const finding of rule.check(readResource(args), options)) {
          reportFinding({ rule, resource: args.name, finding, exceptions, now }, report);
        }
      },
    };
    return policy;
  }
  const policy: StackValidationPolicy = {
    ...shared,
    validateStack: (args, report) => {
      const { exceptions } = readConfiguration(rule, args);
      for (const { resource, message } of rule.check(args.resources.map(readResource))) {
        const urn = args.resources.find((candidate) => candidate.name === resource)?.urn;
        reportFinding({ rule, resource, finding: message, exceptions, now }, (text) => report(text, urn));
      }
    },
  };
  return policy;
}

function readResource({
  type,
  name,
  props,
  opts,
}: Pick<ResourceValidationArgs, "type" | "name" | "props" | "opts">): PolicyResource {
  return { type, name, props: props as PolicyResource["props"], protect: opts.protect };
}

function readConfiguration(rule: Rule, args: ResourceValidationArgs | StackValidationArgs): Configured {
  const { exceptions = [], allowedRegistries = [] } = args.getConfig<{
    exceptions?: readonly Omit<RuleException, "rule">[];
    allowedRegistries?: readonly string[];
  }>();
  return {
    exceptions: exceptions.map(({ resource, reason, expires }) => ({ rule: rule.name, resource, reason, expires })),
    options: { allowedRegistries },
  };
}

type Found = Readonly<{
  rule: Rule;
  resource: string;
  finding: string;
  exceptions: readonly RuleException[];
  now: () => Date;
}>;

function reportFinding({ rule, resource, finding, exceptions, now }: Found, report: (text: string) => void): void {
  const { excused, note } = evaluateException(exceptions, { rule: rule.name, resource, today: now() });
  if (excused) return;
  report(`${resource} ${finding}${note === undefined ? "" : ` (${note})`}. ${rule.remedy}`);
}

/** Resource temporarily exempt from a rule. */
export type RuleException = Readonly<{
  rule: string;
  /** Resource name in the Pulumi program. */
  resource: string;
  reason: string;
  /** Last day of the exception, `YYYY-MM-DD`, in UTC. */
  expires: string;
}>;

/** Effect of an exception on a finding: whether the finding is excused, and a note about an invalid exception. */
export type ExceptionEffect = Readonly<{ excused: boolean; note: string | undefined }>;

/** Checks whether an exception excuses a resource from a rule today. The note explains why an expired or incomplete exception does not. */
export function evaluateException(
  exceptions: readonly RuleException[],
  { rule, resource, today }: Readonly<{ rule: string; resource: string; today: Date }>,
): ExceptionEffect {
  const found = exceptions.find((exception) => exception.rule === rule && exception.resource === resource);
  if (found === undefined) return { excused: false, note: undefined };
  const day = today.toISOString().slice(0, 10);
  if (found.reason.trim() === "") return { excused: false, note: "its exception has no reason, so it is ignored" };
  if (!/^\d{4}-\d{2}-\d{2}$/.test(found.expires)) {
    return {
      excused: false,
      note: `its exception expires "${found.expires}", which is not YYYY-MM-DD, so it is ignored`,
    };
  }
  if (day > found.expires)
    return { excused: false, note: `its exception (${found.reason}) expired on ${found.expires}` };
  return { excused: true, note: undefined };
}
