import { expect, test } from "vitest";
import { explainPostgresFailure } from "./postgres-failure.ts";

const location = { host: "db", port: 5_432, database: "ledger", user: "gatehouse" };

test.each([
  ["28000", 'no pg_hba.conf entry for host "::1", user "gatehouse", database "ledger", no encryption', "add ?sslmode="],
  ["28000", 'no pg_hba.conf entry for host "::1", user "gatehouse", database "ledger", SSL off', "add ?sslmode="],
  ["28000", 'role "gatehouse" does not exist', "permit user gatehouse in the server's pg_hba.conf"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "self-signed certificate in certificate chain", "add the server's CA to the URL"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unable to verify the first certificate", "add the server's CA to the URL"],
  ["53300", "sorry, too many clients already", "close other connections, or raise the server's max_connections"],
  [undefined, "timeout expired", "check that the server is running and reachable from here"],
])("explains what to do about %s %s", (code, message, remedy) => {
  const text = explainPostgresFailure(Object.assign(new Error(message), { code }), location);
  expect(text).toContain(`can't use database "ledger" of PostgreSQL at db:5432 (${message}); ${remedy}`);
});

test("describes an error without a message by its code: several addresses refused the connection", () => {
  expect(explainPostgresFailure({ code: "ECONNREFUSED", message: "" }, location)).toContain(
    "(ECONNREFUSED); check that",
  );
});
