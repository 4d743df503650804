import type { Mask } from "#daemon/secrets/mask.ts";
import { findReachedHost, formatAuthority } from "#daemon/http/address.ts";
import { listRunningServices } from "#daemon/running-services.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { listOperatedServices } from "#infra/stack-services.ts";
import {
  defaultSource,
  foundHere,
  checkedServices,
  isCheckedService,
  readKnownSettings,
  type CheckedService,
  type KnownService,
} from "./known-service.ts";

export type NamedServices = Readonly<{
  urls: Readonly<Record<string, string>>;
  settings: Readonly<Record<string, string>>;
  env: Readonly<Record<string, string | undefined>>;
}>;

/** The services that the options or environment name; otherwise those running on this machine; otherwise the default ports. */
export function findServices(named: NamedServices, { mask }: Readonly<{ mask: Mask }>): readonly KnownService[] {
  mask.hide(named.urls);
  const known = checkedServices.flatMap((service) => findNamedService(service, named, { mask }));
  if (known.length > 0) return known;
  const here = listRunningServices(named.env).flatMap(({ service, url }) =>
    isCheckedService(service) ? [{ service, url, source: foundHere, settings: undefined }] : [],
  );
  if (here.length > 0) return here;
  return listOperatedServices().map(({ name: service, port }) => {
    return { service, source: defaultSource, url: `http://127.0.0.1:${port}`, settings: undefined };
  });
}

function findNamedService(
  service: CheckedService,
  { urls, settings: files, env }: NamedServices,
  { mask }: Readonly<{ mask: Mask }>,
): readonly KnownService[] {
  const [url, file] = [urls[service], files[service]];
  const prefix = `${toEnvironmentName(service, [])}_`;
  if (file === undefined && !Object.keys(env).some((name) => name.startsWith(prefix))) {
    return url === undefined ? [] : [{ service, source: "--url", url, settings: undefined }];
  }
  const settings = readKnownSettings(service, { env, file }, { mask });
  const source = file ?? "the environment";
  if (url !== undefined || !settings.ok) return [{ service, source, url, settings }];
  const { host, port } = settings.facts.operations;
  return [{ service, source, url: `http://${formatAuthority(findReachedHost(host), port)}`, settings }];
}
