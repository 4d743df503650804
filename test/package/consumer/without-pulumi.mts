// A consumer without any of Pulumi's packages, compiled with a bundler's module resolution.
import { payingFetch, type PayingFetchOptions } from "gatehouse-evm/client";
import { lintConfig } from "gatehouse-evm/lint";
import { facilitatorSettings, readSettings } from "gatehouse-evm/settings";

export const pay = (options: PayingFetchOptions) => payingFetch(options);
export const lines: readonly number[] = lintConfig(new Uint8Array(), undefined).map(({ line }) => line);
export const port: number = readSettings(facilitatorSettings, { env: {} }).listen.port;
