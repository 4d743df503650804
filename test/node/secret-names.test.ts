import { expect, test } from "vitest";
import { redact } from "../../cli/doctor/redact.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { looksSecret } from "#node/conf/secret-shapes.ts";
import { noPlainSecrets } from "#policies/rules/no-plain-secrets.ts";
import { buildDockerContainer } from "#policies/testing/sample-resources.ts";

const value = "hunter-two";

/** Lists the parts of Gatehouse that recognize a name as a secret's. */
function listUses(name: string): readonly string[] {
  const variable = name.toUpperCase();
  const container = buildDockerContainer({ envs: [`${variable}=${value}`] });
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const texts = [`${variable}=${value}`, `${name}: ${value}`, JSON.stringify({ [camel]: value })];
  return [
    ...(looksSecret(name, value) ? ["lint"] : []),
    ...(noPlainSecrets.check(container, { allowedRegistries: [] }).length > 0 ? ["policy"] : []),
    ...(texts.some((text) => redact(text, createMask()).includes(value)) ? [] : ["doctor"]),
  ];
}

const kinds =
  "private secret access api auth account signer signing encryption master shared license domain stabilizing";

test.each([
  ...kinds.split(" ").map((kind) => `${kind}_key`),
  ..."secret password passwd key_pwd passphrase keypass store_pass mnemonic token credentials api_keys".split(" "),
  ..."token_value secret_key_base api_key_prod db_password_2 client_secret".split(" "),
  ..."db.password.value app.api_key.1 spring.datasource.password".split(" "),
])("recognizes %s as a secret in node.conf, a variable and the doctor's bundle", (name) => {
  expect(listUses(name)).toEqual(["lint", "policy", "doctor"]);
});

test.each([
  ..."token_address token_name token_decimals private_key_file domain_key_path secret_name".split(" "),
  ..."public_key primary_key bypass pass_deadline_ms token_bucket_size".split(" "),
  ..."token.address db.password.file secrets.json".split(" "),
])("accepts the value of %s everywhere", (name) => {
  expect(listUses(name)).toEqual([]);
});
