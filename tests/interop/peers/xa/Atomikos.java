import com.atomikos.datasource.xa.XATransactionalResource;
import com.atomikos.icatch.config.Configuration;
import com.atomikos.icatch.jta.UserTransactionManager;
import java.util.List;
import javax.transaction.TransactionManager;
import javax.transaction.xa.XAResource;

/** Atomikos; it ends what is in doubt when the time of the longest transaction is over. */
final class Atomikos implements Managed {
  private static final String SETTING = "com.atomikos.icatch.";
  private static final String TIME_LIMIT_MS = "10000";
  private static final int PATIENCE_MS = 180_000;

  private final List<XAResource> resources;

  Atomikos(String log, List<XAResource> resources) {
    this.resources = resources;
    System.setProperty(SETTING + "log_base_dir", log);
    System.setProperty(SETTING + "tm_unique_name", "one");
    System.setProperty(SETTING + "default_jta_timeout", TIME_LIMIT_MS);
    System.setProperty(SETTING + "max_timeout", TIME_LIMIT_MS);
    System.setProperty(SETTING + "recovery_delay", "100");
  }

  @Override
  public TransactionManager manager() throws Exception {
    return started();
  }

  @Override
  public void recover() throws Exception {
    started();
    long until = System.currentTimeMillis() + PATIENCE_MS;
    for (XAResource resource : resources) {
      while (Managed.inDoubt(resource) > 0 && System.currentTimeMillis() < until) {
        Thread.sleep(100);
      }
    }
  }

  private UserTransactionManager started() throws Exception {
    for (XAResource resource : resources) {
      Configuration.addResource(new Known("resource-" + resources.indexOf(resource), resource));
    }
    Configuration.addResource(new Known("dying", new Dying("never")));
    UserTransactionManager manager = new UserTransactionManager();
    manager.init();
    return manager;
  }

  /** A resource by the name that it has in the log. */
  private static final class Known extends XATransactionalResource {
    private final XAResource resource;

    Known(String name, XAResource resource) {
      super(name);
      this.resource = resource;
    }

    @Override
    protected XAResource refreshXAConnection() {
      return resource;
    }
  }
}
