import { listPublishedPorts, type PublishedPort } from "../stack-services.ts";
import { declaredKeys, type StackConfig } from "../config/config-schema.ts";
import { hasService } from "./optional-services.ts";
import { findPortKey, readHostPort } from "./row-keys.ts";

export type HostPort = PublishedPort & Readonly<{ key: string; number: number }>;

export function listHostPorts(config: StackConfig): readonly HostPort[] {
  const keys = Object.keys(declaredKeys);
  const rank = ({ key }: HostPort) => keys.indexOf(key.split(".")[0] ?? "");
  return listPublishedPorts()
    .filter(({ service }) => hasService(config, service))
    .flatMap((published) => {
      const number = readHostPort(config, published.as);
      return number === undefined ? [] : [Object.assign({ key: findPortKey(published.as), number }, published)];
    })
    .toSorted((one, other) => rank(one) - rank(other));
}

export function findPublishedAddress({ at }: Pick<PublishedPort, "at">, publishAddress: string): string {
  return at === "public" ? publishAddress : "127.0.0.1";
}
