import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerSaslServer;

/**
 * Kafka's SASL server of OAUTHBEARER, which knows one token: its first argument, which is the
 * second one's. Each line is a response in hexadecimal, an empty one begins anew; each answer is
 * "done", "challenge HEX" or "failed".
 */
public final class OauthBearerServer {
    private record Known(String value, String principalName) implements OAuthBearerToken {
        public Set<String> scope() {
            return Set.of();
        }

        public long lifetimeMs() {
            return Long.MAX_VALUE;
        }

        public Long startTimeMs() {
            return null;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Known known = new Known(arguments[0], arguments[1]);
        OAuthBearerSaslServer server = null;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.isEmpty()) {
                server = new OAuthBearerSaslServer(new Judge(known));
                continue;
            }
            System.out.println(answer(server, HexFormat.of().parseHex(line)));
            System.out.flush();
        }
    }

    private static String answer(OAuthBearerSaslServer server, byte[] response) {
        try {
            byte[] challenge = server.evaluateResponse(response);
            return server.isComplete() ? "done" : "challenge " + HexFormat.of().formatHex(challenge);
        } catch (Exception error) {
            return "failed " + error.getMessage();
        }
    }

    private record Judge(Known known) implements AuthenticateCallbackHandler {
        public void configure(
                Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {}

        public void close() {}

        public void handle(Callback[] callbacks) {
            for (Callback each : callbacks) {
                if (each instanceof OAuthBearerValidatorCallback asked) {
                    if (asked.tokenValue().equals(known.value())) {
                        asked.token(known);
                    } else {
                        asked.error("invalid_token", "all", null);
                    }
                }
            }
        }
    }
}
