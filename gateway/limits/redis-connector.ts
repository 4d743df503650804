import { createConnection } from "node:net";
import { connect as createTlsConnection } from "node:tls";
import { AbstractConnector, type RedisOptions } from "ioredis";
import { lookupName } from "#daemon/http/name-lookup.ts";

/**
 * Connects to a store with the Redis protocol as ioredis' own connector does, but looks its name up as all of the process's sockets do: ioredis, which has no
 * option for that, tries again every two seconds, and each try would wait in another of the process's few threads while a name server is silent.
 */
export class RedisConnector extends AbstractConnector {
  readonly #place: Readonly<{ host: string; port: number; lookup: typeof lookupName }>;
  readonly #isSecure: boolean;

  constructor({ host = "localhost", port = 6_379, tls, disconnectTimeout = 2_000 }: RedisOptions) {
    super(disconnectTimeout);
    this.#place = { host, port, lookup: lookupName };
    this.#isSecure = tls !== undefined;
  }

  override async connect() {
    this.connecting = true;
    // Who creates the client listens to its events only after that.
    await Promise.resolve();
    if (!this.connecting) throw new Error("Connection is closed.");
    this.stream = this.#isSecure ? createTlsConnection(this.#place) : createConnection(this.#place);
    this.stream.once("error", (error) => (this.firstError = error));
    return this.stream;
  }
}
