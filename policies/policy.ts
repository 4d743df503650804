import type {
  Policies,
  Policy,
  ResourceValidationArgs,
  ResourceValidationPolicy,
  StackValidationArgs,
  StackValidationPolicy,
} from "@pulumi/policy";
import { bearingOf, type RuleException } from "./exceptions.ts";
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

/** Makes a rule a Pulumi policy. `now` tells the day that exceptions are judged by. */
export function policyOf(rule: Rule, now: () => Date): Policies[number] {
  const shared = {
    name: rule.name,
    description: `[${rule.severity}] ${rule.why} ${rule.remedy}`,
    severity: rule.severity,
    // Whatever its severity: who wants a rule to warn only says so in the pack's configuration.
    enforcementLevel: "mandatory" as const,
    configSchema: configSchema as unknown as NonNullable<Policy["configSchema"]>,
  };
  if (rule.scope === "resource") {
    const policy: ResourceValidationPolicy = {
      ...shared,
      validateResource: (args, report) => {
        const { exceptions, options } = configured(rule, args);
        for (const finding of rule.check(resourceOf(args), options)) {
          tell({ rule, resource: args.name, finding, exceptions, now }, report);
        }
      },
    };
    return policy;
  }
  const policy: StackValidationPolicy = {
    ...shared,
    validateStack: (args, report) => {
      const { exceptions } = configured(rule, args);
      for (const { resource, message } of rule.check(args.resources.map(resourceOf))) {
        const urn = args.resources.find((candidate) => candidate.name === resource)?.urn;
        tell({ rule, resource, finding: message, exceptions, now }, (text) => report(text, urn));
      }
    },
  };
  return policy;
}

function resourceOf({
  type,
  name,
  props,
  opts,
}: Pick<ResourceValidationArgs, "type" | "name" | "props" | "opts">): PolicyResource {
  return { type, name, props: props as PolicyResource["props"], protect: opts.protect };
}

function configured(rule: Rule, args: ResourceValidationArgs | StackValidationArgs): Configured {
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

function tell({ rule, resource, finding, exceptions, now }: Found, report: (text: string) => void): void {
  const { excused, note } = bearingOf(exceptions, { rule: rule.name, resource, today: now() });
  if (excused) return;
  report(`${resource} ${finding}${note === undefined ? "" : ` (${note})`}. ${rule.remedy}`);
}
