import { createConnection } from "node:net";
import { connect as createTlsConnection } from "node:tls";
import { AbstractConnector, type RedisOptions } from "ioredis";
import { lookupName } from "#daemon/http/name-lookup.ts";

/**
 * Connects to a Redis-protocol store like ioredis' own connector, but resolves its name like all of the process's sockets. ioredis has no
 * option for that and retries every two seconds, and each retry would block another of the process's few threads while a name server does
 * not respond.
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
    // The creator of the client attaches its event listeners only after that.
    await Promise.resolve();
    if (!this.connecting) throw new Error("Connection is closed.");
    this.stream = this.#isSecure ? createTlsConnection(this.#place) : createConnection(this.#place);
    this.stream.once("error", (error) => (this.firstError = error));
    return this.stream;
  }
}
