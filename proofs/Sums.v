(** Sums and positive parts, of integers and of fractions.

    [sum n f] is f 0 + f 1 + ... + f (n - 1); it is 0 where n is not positive. [qsum] is the same for
    fractions. What is proved of them here is what everybody knows about sums; nothing is about delays. *)

From Coq Require Import ZArith QArith Qminmax Lia Lqa.

(** To prove something for every count n: prove it where there is nothing to add, and from n to n + 1. *)
Lemma counting (P : Z -> Prop) :
  (forall n, (n <= 0)%Z -> P n) ->
  (forall n, (0 <= n)%Z -> P n -> P (n + 1)%Z) ->
  forall n, P n.
Proof.
  intros none one n. destruct (Z.le_gt_cases n 0) as [small | large]; [exact (none n small) |].
  apply (natlike_ind P); [apply none; lia | intros; apply one; assumption | lia].
Qed.

(** * Integers *)

Section Integers.
Open Scope Z_scope.

Fixpoint sum_nat (n : nat) (f : Z -> Z) : Z :=
  match n with
  | O => 0
  | S m => sum_nat m f + f (Z.of_nat m)
  end.

Definition sum (n : Z) (f : Z -> Z) : Z := sum_nat (Z.to_nat n) f.

(** The positive part. *)
Definition pos (x : Z) : Z := Z.max 0 x.

(** Where there is nothing to add. *)
Lemma sum_none n f : n <= 0 -> sum n f = 0.
Proof. intros none. unfold sum. replace (Z.to_nat n) with O by lia. reflexivity. Qed.

(** The last term by itself. *)
Lemma sum_one_more n f : 0 <= n -> sum (n + 1) f = sum n f + f n.
Proof.
  intros. unfold sum. replace (Z.to_nat (n + 1)) with (S (Z.to_nat n)) by lia.
  simpl. now rewrite Z2Nat.id.
Qed.

(** Equal terms have equal sums. *)
Lemma sum_ext n f g : (forall i, 0 <= i < n -> f i = g i) -> sum n f = sum n g.
Proof.
  induction n using counting; intros same.
  - now rewrite !sum_none.
  - rewrite !sum_one_more, IHn, same by (intros; try apply same; lia). reflexivity.
Qed.

(** A sum of sums. *)
Lemma sum_add n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n using counting; [rewrite !sum_none | rewrite !sum_one_more]; lia. Qed.

(** A common factor. *)
Lemma sum_times n c f : sum n (fun i => c * f i) = c * sum n f.
Proof. induction n using counting; [rewrite !sum_none | rewrite !sum_one_more]; lia. Qed.

(** n equal terms. *)
Lemma sum_of_the_same n c : 0 <= n -> sum n (fun _ => c) = n * c.
Proof.
  induction n using counting; intros.
  - replace n with 0 by lia. reflexivity.
  - rewrite sum_one_more, IHn by lia. ring.
Qed.

(** A sum of zeros is zero. *)
Lemma sum_zero n f : (forall i, 0 <= i < n -> f i = 0) -> sum n f = 0.
Proof.
  intros zero. rewrite (sum_ext n f (fun _ => 0 * 0)) by assumption. rewrite sum_times. reflexivity.
Qed.

(** A sum in two parts, cut at m. *)
Lemma sum_cut m n f : 0 <= m <= n -> sum n f = sum m f + sum (n - m) (fun i => f (m + i)).
Proof.
  intros inside. replace n with (m + (n - m)) at 1 by lia.
  assert (0 <= n - m) as more by lia. revert more. generalize (n - m) as k.
  induction k using counting; intros more.
  - replace k with 0 by lia. rewrite Z.add_0_r, (sum_none 0) by lia. lia.
  - rewrite Z.add_assoc, !sum_one_more by lia. lia.
Qed.

(** The same in n blocks of G terms each. *)
Lemma sum_blocks n G f : 0 <= n -> 0 <= G ->
  sum (n * G) f = sum n (fun i => sum G (fun r => f (i * G + r))).
Proof.
  intros some size. induction n using counting; [now rewrite !sum_none by nia |].
  rewrite sum_one_more, <- IHn, (sum_cut (n * G)) by nia.
  now replace ((n + 1) * G - n * G) with G by ring.
Qed.

(** A sum backwards. *)
Lemma sum_backwards n f : sum n f = sum n (fun i => f (n - 1 - i)).
Proof.
  induction n using counting; [now rewrite !sum_none |].
  rewrite sum_one_more, IHn by assumption.
  rewrite (sum_cut 1 (n + 1)), Z.add_simpl_r, Z.add_comm by lia.
  f_equal; [change (sum 1 ?g) with (g 0); cbv beta; f_equal; lia |].
  apply sum_ext. intros. f_equal. lia.
Qed.

(** What lies in 0..n-1 has the same sum when it begins s later, if the sum goes far enough. *)
Lemma sum_later n s more f : 0 <= n -> 0 <= s <= more ->
  (forall i, i < 0 -> f i = 0) -> (forall i, n <= i -> f i = 0) ->
  sum (n + more) (fun i => f (i - s)) = sum n f.
Proof.
  intros some later before after.
  rewrite (sum_cut s), (sum_cut n (n + more - s)) by lia.
  rewrite (sum_zero s) by (intros; apply before; lia).
  rewrite (sum_zero (n + more - s - n)) by (intros; apply after; lia).
  rewrite (sum_ext n _ f) by (intros; f_equal; lia). lia.
Qed.

(** Where no term is negative and the sum is 0, every term is 0. *)
Lemma sum_all_zero n f : (forall i, 0 <= f i) -> sum n f = 0 -> forall i, 0 <= i < n -> f i = 0.
Proof.
  intros positive.
  assert (forall m, 0 <= sum m f) as sums.
  { induction m using counting; [rewrite sum_none | rewrite sum_one_more]; try lia.
    specialize (positive m). lia. }
  induction n using counting; intros nothing i inside; [lia |].
  rewrite sum_one_more in nothing by assumption.
  specialize (sums n). pose proof (positive n) as last.
  destruct (Z.eq_dec i n) as [-> |]; [lia | apply IHn; lia].
Qed.

End Integers.

(** * Fractions *)

Section Fractions.
Open Scope Q_scope.

Fixpoint qsum_nat (n : nat) (f : Z -> Q) : Q :=
  match n with
  | O => 0
  | S m => qsum_nat m f + f (Z.of_nat m)
  end.

Definition qsum (n : Z) (f : Z -> Q) : Q := qsum_nat (Z.to_nat n) f.

(** The positive part. *)
Definition qpos (x : Q) : Q := Qmax 0 x.

(** x to the power of n. *)
Fixpoint power (x : Q) (n : nat) : Q :=
  match n with
  | O => 1
  | S m => x * power x m
  end.

(** The same as above, for fractions: where there is nothing to add. *)
Lemma qsum_none n f : (n <= 0)%Z -> qsum n f = 0.
Proof. intros none. unfold qsum. replace (Z.to_nat n) with O by lia. reflexivity. Qed.

(** The last term by itself. *)
Lemma qsum_one_more n f : (0 <= n)%Z -> qsum (n + 1) f = qsum n f + f n.
Proof.
  intros. unfold qsum. replace (Z.to_nat (n + 1)) with (S (Z.to_nat n)) by lia.
  simpl. now rewrite Z2Nat.id.
Qed.

(** Equal terms have equal sums. *)
Lemma qsum_ext n f g : (forall i, (0 <= i < n)%Z -> f i == g i) -> qsum n f == qsum n g.
Proof.
  induction n using counting; intros same.
  - rewrite !qsum_none by assumption. reflexivity.
  - rewrite !qsum_one_more, IHn, same by (intros; try apply same; lia). reflexivity.
Qed.

(** Larger terms have a larger sum. *)
Lemma qsum_le n f g : (forall i, (0 <= i < n)%Z -> f i <= g i) -> qsum n f <= qsum n g.
Proof.
  induction n using counting; intros less.
  - rewrite !qsum_none by assumption. lra.
  - rewrite !qsum_one_more by assumption.
    assert (f n <= g n) by (apply less; lia).
    assert (qsum n f <= qsum n g) by (apply IHn; intros; apply less; lia). lra.
Qed.

(** A sum of sums. *)
Lemma qsum_add n f g : qsum n (fun i => f i + g i) == qsum n f + qsum n g.
Proof.
  induction n using counting; [rewrite !qsum_none by assumption; lra |].
  rewrite !qsum_one_more by assumption. lra.
Qed.

(** A common factor. *)
Lemma qsum_times n c f : qsum n (fun i => c * f i) == c * qsum n f.
Proof.
  induction n using counting; [rewrite !qsum_none by assumption; lra |].
  rewrite !qsum_one_more by assumption. rewrite IHn. ring.
Qed.

(** A sum of zeros is zero. *)
Lemma qsum_zero n : qsum n (fun _ => 0) == 0.
Proof. rewrite (qsum_ext n _ (fun _ => 0 * 0)) by (intros; ring). rewrite qsum_times. ring. Qed.

(** A sum of which only the term at j is not 0. *)
Lemma qsum_single n j f : (0 <= j < n)%Z -> (forall i, i <> j -> f i == 0) -> qsum n f == f j.
Proof.
  induction n using counting; intros inside others; [lia |].
  rewrite qsum_one_more by assumption. destruct (Z.eq_dec j n) as [-> | before].
  - rewrite (qsum_ext n f (fun _ => 0)) by (intros; apply others; lia). rewrite qsum_zero. ring.
  - rewrite IHn, (others n) by (assumption || lia). ring.
Qed.

(** The order of two sums does not matter. *)
Lemma qsum_swap n m (f : Z -> Z -> Q) :
  qsum n (fun i => qsum m (f i)) == qsum m (fun j => qsum n (fun i => f i j)).
Proof.
  induction n using counting.
  - rewrite qsum_none by assumption.
    rewrite (qsum_ext m _ (fun _ => 0)) by (intros; rewrite qsum_none by assumption; reflexivity).
    symmetry. apply qsum_zero.
  - rewrite qsum_one_more, IHn, <- qsum_add by assumption.
    apply qsum_ext. intros. rewrite qsum_one_more by assumption. reflexivity.
Qed.

(** A sum of integers over one denominator. *)
Lemma qsum_of_integers n f d : qsum n (fun i => inject_Z (f i) / d) == inject_Z (sum n f) / d.
Proof.
  induction n using counting.
  - rewrite qsum_none, sum_none by assumption. unfold Qdiv. ring.
  - rewrite qsum_one_more, sum_one_more, IHn, inject_Z_plus by assumption. unfold Qdiv. ring.
Qed.

(** Equal fractions (2/4 and 1/2) have equal positive parts. *)
Global Instance qpos_proper : Proper (Qeq ==> Qeq) qpos.
Proof. intros x y same. unfold qpos. now rewrite same. Qed.

(** A positive part is 0 or the number itself. *)
Lemma qpos_cases x : (x <= 0 /\ qpos x == 0) \/ (0 <= x /\ qpos x == x).
Proof.
  unfold qpos. destruct (Qlt_le_dec x 0).
  - left. split; [lra | apply Q.max_l; lra].
  - right. split; [assumption | apply Q.max_r; assumption].
Qed.

(** It is the least number that is neither negative nor below x. *)
Lemma qpos_least x y : 0 <= y -> x <= y -> qpos x <= y.
Proof. intros. destruct (qpos_cases x) as [[_ ->] | [_ ->]]; assumption. Qed.

(** It is at least x, and not negative. *)
Lemma qpos_above x : x <= qpos x /\ 0 <= qpos x.
Proof. destruct (qpos_cases x) as [[? ->] | [? ->]]; lra. Qed.

(** A factor that is not negative comes out. *)
Lemma qpos_times c x : 0 <= c -> qpos (c * x) == c * qpos x.
Proof.
  intros. destruct (qpos_cases x) as [[? E] | [? E]], (qpos_cases (c * x)) as [[? F] | [? F]];
    rewrite E, F; nra.
Qed.

(** Both positive parts agree. *)
Lemma qpos_of_integer z : qpos (inject_Z z) == inject_Z (pos z).
Proof.
  unfold pos. destruct (Z.max_spec 0 z) as [[large ->] | [small ->]]; unfold qpos.
  - apply Q.max_r. change 0 with (inject_Z 0). rewrite <- Zle_Qle. lia.
  - apply Q.max_l. change 0 with (inject_Z 0). rewrite <- Zle_Qle. lia.
Qed.

(** The positive part of a sum is at most the sum of the positive parts. *)
Lemma qpos_sum n f : qpos (qsum n f) <= qsum n (fun i => qpos (f i)).
Proof.
  apply qpos_least.
  - rewrite <- (qsum_zero n). apply qsum_le. intros. apply qpos_above.
  - apply qsum_le. intros. apply qpos_above.
Qed.

(** Powers of what is not negative are not negative. *)
Lemma power_positive x n : 0 <= x -> 0 <= power x n.
Proof. intros. induction n; simpl; [lra | nra]. Qed.

End Fractions.
