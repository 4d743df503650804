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
          reason: { type: "string", pattern: "\\S" },
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
    // Mandatory regardless of severity; the pack's configuration can downgrade a rule to a warning.
    enforcementLevel: "mandatory" as const,
    configSchema: configSchema as unknown as NonNullable<Policy["configSchema"]>,
  };
  if (rule.scope === "resource") {
    const policy: ResourceValidationPolicy = {
      ...shared,
      validateResource: (args, report) => {
        const { exceptions, options } = readConfiguration(args);
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
      const { exceptions } = readConfiguration(args);
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

function readConfiguration(args: ResourceValidationArgs | StackValidationArgs): Configured {
  const { exceptions = [], allowedRegistries = [] } = args.getConfig<{
    exceptions?: readonly RuleException[];
    allowedRegistries?: readonly string[];
  }>();
  return { exceptions, options: { allowedRegistries } };
}

type Found = Readonly<{
  rule: Rule;
  resource: string;
  finding: string;
  exceptions: readonly RuleException[];
  now: () => Date;
}>;

function reportFinding({ rule, resource, finding, exceptions, now }: Found, report: (text: string) => void): void {
  const exception = exceptions.find((candidate) => candidate.resource === resource);
  const today = now().toISOString().slice(0, 10);
  if (exception !== undefined && today <= exception.expires) return;
  const note = exception === undefined ? "" : ` (its exception (${exception.reason}) expired on ${exception.expires})`;
  report(`${resource} ${finding}${note}. ${rule.remedy}`);
}

/** Resource temporarily exempt from a rule, as the pack's schema allows it. */
type RuleException = Readonly<{
  resource: string;
  reason: string;
  /** Last day of the exception, `YYYY-MM-DD`, in UTC. */
  expires: string;
}>;
