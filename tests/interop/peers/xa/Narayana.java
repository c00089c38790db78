import com.arjuna.ats.arjuna.common.CoreEnvironmentBean;
import com.arjuna.ats.arjuna.common.ObjectStoreEnvironmentBean;
import com.arjuna.ats.arjuna.common.RecoveryEnvironmentBean;
import com.arjuna.ats.arjuna.recovery.RecoveryManager;
import com.arjuna.ats.arjuna.recovery.RecoveryModule;
import com.arjuna.ats.internal.arjuna.recovery.AtomicActionRecoveryModule;
import com.arjuna.ats.internal.jta.recovery.arjunacore.JTANodeNameXAResourceOrphanFilter;
import com.arjuna.ats.internal.jta.recovery.arjunacore.JTATransactionLogXAResourceOrphanFilter;
import com.arjuna.ats.internal.jta.recovery.arjunacore.XARecoveryModule;
import com.arjuna.ats.jta.common.JTAEnvironmentBean;
import com.arjuna.ats.jta.recovery.XAResourceRecoveryHelper;
import com.arjuna.common.internal.util.propertyservice.BeanPopulator;
import java.util.List;
import javax.transaction.TransactionManager;
import javax.transaction.xa.XAResource;

/** Narayana; it ends what is in doubt as soon as it looks. */
final class Narayana implements Managed, XAResourceRecoveryHelper {
  private static final String NODE = "1";

  private final List<XAResource> resources;

  Narayana(String log, List<XAResource> resources) throws Exception {
    this.resources = resources;
    for (String name : new String[] {"default", "communicationStore", "stateStore"}) {
      BeanPopulator.getNamedInstance(ObjectStoreEnvironmentBean.class, name).setObjectStoreDir(log);
    }
    BeanPopulator.getDefaultInstance(CoreEnvironmentBean.class).setNodeIdentifier(NODE);
    RecoveryEnvironmentBean recovery = BeanPopulator.getDefaultInstance(RecoveryEnvironmentBean.class);
    recovery.setRecoveryBackoffPeriod(1);
    recovery.setRecoveryListener(false);
    recovery.setRecoveryModuleClassNames(List.of(
        AtomicActionRecoveryModule.class.getName(), XARecoveryModule.class.getName()));
    JTAEnvironmentBean jta = BeanPopulator.getDefaultInstance(JTAEnvironmentBean.class);
    jta.setXaRecoveryNodes(List.of(NODE));
    jta.setOrphanSafetyInterval(0);
    jta.setXaResourceOrphanFilterClassNames(List.of(
        JTATransactionLogXAResourceOrphanFilter.class.getName(), JTANodeNameXAResourceOrphanFilter.class.getName()));
  }

  @Override
  public TransactionManager manager() {
    return com.arjuna.ats.jta.TransactionManager.transactionManager();
  }

  @Override
  public void recover() {
    RecoveryManager manager = RecoveryManager.manager(RecoveryManager.DIRECT_MANAGEMENT);
    for (RecoveryModule module : manager.getModules()) {
      if (module instanceof XARecoveryModule ofXa) {
        ofXa.addXAResourceRecoveryHelper(this);
      }
    }
    manager.scan();
    manager.scan();
  }

  @Override
  public boolean initialise(String parameter) {
    return true;
  }

  @Override
  public XAResource[] getXAResources() {
    return resources.toArray(new XAResource[0]);
  }
}
