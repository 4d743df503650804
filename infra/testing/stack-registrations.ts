import { runtime } from "@pulumi/pulumi";
import { recordStack } from "./deployed-stack.ts";
import { pickReplacingInputs } from "./replacing-inputs.ts";

/** The parts of a resource in a stack's state that determine whether the next `pulumi up` retains or replaces the resource. */
export type Registration = Readonly<{
  urn: string;
  /** URN of the explicit provider. A different provider replaces the resource. */
  provider?: string;
  isProtected?: true;
  isRetainedOnDelete?: true;
  deletesBeforeReplace?: true;
  /** Inputs whose change replaces the resource; secrets are masked. */
  replacing?: Readonly<Record<string, unknown>>;
}>;

/** Resource options that a state does not store. */
type RegistrationOptions = Readonly<{
  /** URNs under which the resource may already be in a state: its own and its aliases'. */
  knownAs: readonly string[];
  /** Dotted paths of the inputs whose changes are ignored. */
  ignoreChanges: readonly string[];
}>;

/** A resource as registered by the program. */
export type Registered = Readonly<{ registration: Registration; options: RegistrationOptions }>;

type AliasSpec = Readonly<{ getName(): string; getType(): string; getParenturn(): string; getNoparent(): boolean }>;

/** The parts used here of Pulumi's `RegisterResourceRequest`. */
type Request = Readonly<{
  getType(): string;
  getName(): string;
  getParent(): string;
  getProvider(): string;
  getProtect(): boolean;
  getRetainondelete(): boolean;
  getDeletebeforereplace(): boolean;
  getIgnorechangesList(): readonly string[];
  getObject(): Parameters<typeof runtime.deserializeProperties>[0];
  getAliasesList(): readonly Readonly<{ getUrn(): string; getSpec(): AliasSpec | undefined }>[];
}>;

type Monitor = {
  registerResource(request: Request, callback: unknown): Promise<void>;
  newUrn(parent: string, type: string, name: string): string;
};

const prefix = "urn:pulumi:test::gatehouse::";

/**
 * Runs the Pulumi program against mocks and returns every registered resource, ordered by URN.
 *
 * The mocks' own URNs contain only the parent's type; these contain the whole chain of types, as in a stack's state.
 */
export async function listRegistrations(config: Readonly<Record<string, string>>): Promise<readonly Registered[]> {
  const known = new Map<string, readonly string[]>();
  const registered: Registered[] = [];
  const watch = (): void => {
    const monitor = runtime.getMonitor() as unknown as Monitor;
    const register = monitor.registerResource.bind(monitor);
    monitor.registerResource = (request, callback) => {
      const knownAs = listUrns(request, known);
      known.set(monitor.newUrn(request.getParent(), request.getType(), request.getName()), knownAs);
      const registration = buildRegistration(request, knownAs[0] ?? "", known);
      registered.push({ registration, options: { knownAs, ignoreChanges: request.getIgnorechangesList() } });
      return register(request, callback);
    };
  };
  await recordStack(config, { preview: false, watch });
  return registered.toSorted((a, b) => (a.registration.urn < b.registration.urn ? -1 : 1));
}

/** Lists a resource's URN, then its aliases' URNs, each combined with every URN of the parent. */
function listUrns(request: Request, known: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const below = (parent: string, type: string, name: string): string[] =>
    (known.get(parent) ?? [prefix]).map((urn) => {
      const chain = urn.slice(prefix.length).split("::")[0] ?? "";
      return `${prefix}${chain === "" ? type : `${chain}$${type}`}::${name}`;
    });
  const own = below(request.getParent(), request.getType(), request.getName());
  const aliases = request.getAliasesList().flatMap((alias) => {
    const spec = alias.getSpec();
    if (spec === undefined) return [alias.getUrn()];
    const parent = spec.getNoparent() ? "" : spec.getParenturn() || request.getParent();
    return below(parent, spec.getType() || request.getType(), spec.getName() || request.getName());
  });
  return [...own, ...aliases];
}

function buildRegistration(request: Request, urn: string, known: ReadonlyMap<string, readonly string[]>): Registration {
  const provider = request.getProvider().replace(/::[^:]*$/, "");
  const inputs = runtime.deserializeProperties(request.getObject()) as Readonly<Record<string, unknown>>;
  const replacing = pickReplacingInputs(request.getType(), inputs);
  return {
    urn,
    ...(provider === "" ? {} : { provider: known.get(provider)?.[0] ?? provider }),
    ...(request.getProtect() ? { isProtected: true } : {}),
    ...(request.getRetainondelete() ? { isRetainedOnDelete: true } : {}),
    ...(request.getDeletebeforereplace() ? { deletesBeforeReplace: true } : {}),
    ...(Object.keys(replacing).length === 0 ? {} : { replacing }),
  };
}
